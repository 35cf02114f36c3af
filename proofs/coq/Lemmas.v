(* The lemmas of the constructions, over the reals and in every dimension. *)
From Coq Require Import List QArith Qreals Reals Lra Lia Bool.
From Interp Require Import Semantics Numbers.
Import ListNotations.
Local Open Scope R_scope.

Lemma Rabs_bounds a b : Rabs a <= b -> - b <= a <= b.
Proof. unfold Rabs. destruct (Rcase_abs a); lra. Qed.

(* ---- softmax: weights and gaps ---- *)
Lemma exp_half : exp (-1) <= / 2.
Proof. replace (-1) with (- (1)) by lra. rewrite exp_Ropp. apply Rinv_le_contravar; [lra|].
  pose proof (exp_ineq1 1 ltac:(lra)). lra. Qed.
Lemma exp_power k : exp (- INR k) <= (/ 2) ^ k.
Proof. induction k; [simpl; rewrite Ropp_0, exp_0; lra|].
  rewrite S_INR. replace (- (INR k + 1)) with (-1 + - INR k) by lra. rewrite exp_plus. simpl pow.
  apply Rmult_le_compat; try (left; apply exp_pos); auto using exp_half. Qed.
Lemma exp_monotone a b : a <= b -> exp a <= exp b.
Proof. intros [H| ->]; [left; now apply exp_increasing|lra]. Qed.
(* A score behind by k limit or more has at most 2^-k times the weight, at every temperature up to the limit. *)
Lemma gap_bound tau limit k s best : 0 < tau -> tau <= limit -> INR k * limit <= best - s ->
  exp (s / tau) <= exp (best / tau) * (/ 2) ^ k.
Proof.
  intros H0 H1 H2. replace (s / tau) with (best / tau + (s - best) / tau) by (field; lra). rewrite exp_plus.
  apply Rmult_le_compat_l; [left; apply exp_pos|]. eapply Rle_trans; [|apply exp_power]. apply exp_monotone.
  apply Rmult_le_reg_r with tau; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  pose proof (Rmult_le_compat_l (INR k) _ _ (pos_INR k) H1). lra.
Qed.
Lemma product_error x z a b s t : Rabs (x - a) <= s -> Rabs (z - b) <= t ->
  Rabs (x * z - a * b) <= Rabs a * t + Rabs b * s + s * t.
Proof.
  intros H1 H2. replace (x * z - a * b) with (a * (z - b) + b * (x - a) + (x - a) * (z - b)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
  rewrite !Rabs_mult. pose proof (Rabs_pos a). pose proof (Rabs_pos b).
  pose proof (Rabs_pos (x - a)). pose proof (Rabs_pos (z - b)).
  pose proof (Rmult_le_compat_l _ _ _ H H2). pose proof (Rmult_le_compat_l _ _ _ H0 H1).
  assert (Rabs (x - a) * Rabs (z - b) <= s * t) by (apply Rmult_le_compat; lra). lra.
Qed.
Lemma sum_over_nonneg (e : token -> R) X : (forall z, 0 < e z) -> 0 <= sum_over e X.
Proof. intros H; induction X; simpl; [lra|]. pose proof (H a). lra. Qed.
(* A weighted mean is near its token of largest weight. *)
Lemma mean_near_best (e : token -> R) s X1 X2 i D : (forall z, 0 < e z) ->
  sum_over (fun z => e z * Rabs (coord z i - coord s i)) (X1 ++ X2) <= e s * D -> 0 <= D ->
  Rabs (sum_over (fun z => e z * coord z i) (X1 ++ s :: X2) / sum_over e (X1 ++ s :: X2) - coord s i) <= D.
Proof.
  intros He HD HD0.
  assert (E1 : sum_over (fun z => e z * coord z i) (X1 ++ s :: X2) = e s * coord s i + sum_over (fun z => e z * coord z i) (X1 ++ X2))
    by (rewrite !sum_over_app; simpl; lra).
  assert (E2 : sum_over e (X1 ++ s :: X2) = e s + sum_over e (X1 ++ X2)) by (rewrite !sum_over_app; simpl; lra).
  rewrite E1, E2. clear E1 E2. set (O := X1 ++ X2) in *. pose proof (He s) as Hs. pose proof (sum_over_nonneg e O He) as HO.
  assert (E3 : Rabs (sum_over (fun z => e z * coord z i) O - sum_over e O * coord s i) <= sum_over (fun z => e z * Rabs (coord z i - coord s i)) O).
  { clear -He. induction O as [|z O IH]; simpl. rewrite Rmult_0_l, Rminus_0_r, Rabs_R0; lra.
    replace (_ - _) with (e z * (coord z i - coord s i) + (sum_over (fun z => e z * coord z i) O - sum_over e O * coord s i)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_pos_eq (e z)); [lra|left; apply He]. }
  set (Z := e s + sum_over e O). assert (0 < Z) by (unfold Z; lra).
  replace (_ / _ - _) with ((sum_over (fun z => e z * coord z i) O - sum_over e O * coord s i) / Z) by (unfold Z; field; unfold Z in *; lra).
  unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq Z) by lra.
  apply Rmult_le_reg_r with Z; auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  assert (D * e s <= D * Z) by (apply Rmult_le_compat_l; auto; unfold Z; lra). lra.
Qed.

(* ---- vectors ---- *)
Lemma dot_sym d x y : dot d x y = dot d y x.
Proof. apply sum_upto_ext; intros; ring. Qed.
Lemma dot_tabulate d u f : dot d u (tabulate d f) = sum_upto d (fun i => coord u i * f i).
Proof. apply sum_upto_ext. intros. now rewrite coord_tabulate. Qed.
Lemma dot_nonneg d x : 0 <= dot d x x.
Proof. unfold dot. induction d; simpl; [lra|]. pose proof (Rle_0_sqr (coord x d)). unfold Rsqr in *. lra. Qed.
Lemma dot_self_0 d x : dot d x x = 0 -> forall i, (i < d)%nat -> coord x i = 0.
Proof. unfold dot. induction d; simpl; intros H i Hi; [lia|].
  pose proof (dot_nonneg d x) as P. unfold dot in P. pose proof (Rle_0_sqr (coord x d)) as Q. unfold Rsqr in Q.
  destruct (Nat.eq_dec i d) as [->|]; [apply Rsqr_0_uniq; unfold Rsqr; lra|apply IHd; [lra|lia]]. Qed.
Definition difference d (x y : token) : token := tabulate d (fun i => coord x i - coord y i).
Lemma dot_difference d u x y : dot d u (difference d x y) = dot d u x - dot d u y.
Proof. unfold difference. rewrite dot_tabulate. unfold dot.
  rewrite (sum_upto_ext d _ (fun i => coord u i * coord x i + -1 * (coord u i * coord y i))) by (intros; ring).
  rewrite sum_upto_plus, sum_upto_scale. lra. Qed.

(* <A x, z> without computing A x *)
Lemma dot_apply_square d M x z : dot d (apply_square d M x) z =
  scale M * dot d x z + sum_over (fun lr => dot d (snd lr) x * dot d (fst lr) z) (outers M).
Proof.
  unfold dot at 1. rewrite (sum_upto_ext d _ (fun i => scale M * (coord x i * coord z i)
    + sum_over (fun lr => dot d (snd lr) x * coord (fst lr) i) (outers M) * coord z i)).
  - rewrite sum_upto_plus, sum_upto_scale. f_equal.
    rewrite <- sum_swap. apply sum_over_ext. intros lr _. unfold dot at 3. rewrite <- sum_upto_scale.
    apply sum_upto_ext; intros; ring.
  - intros i Hi. unfold apply_square. rewrite coord_tabulate by auto. rewrite Rmult_plus_distr_r, Rmult_assoc. f_equal. f_equal.
    apply sum_over_ext; intros; ring.
Qed.

Lemma max_exists A (f : A -> R) X : X <> [] -> exists z, In z X /\ forall z', In z' X -> f z' <= f z.
Proof.
  induction X as [|a X IH]; intros H; [congruence|]. destruct X as [|b X].
  - exists a; split; [now left|]. intros z' [<-|[]]; lra.
  - destruct IH as [z [I M]]; [congruence|]. destruct (Rle_dec (f a) (f z)).
    + exists z; split; [now right|]. intros z' [<-|Hz]; auto.
    + exists a; split; [now left|]. intros z' [<-|Hz]; [lra|]. specialize (M _ Hz); lra.
Qed.
(* equal scores: the plain mean, at every temperature *)
Lemma hard_mean_uniform d B X x : (forall z, score d B x z = 0) ->
  hard_mean d B X x = tabulate d (fun i => sum_over (fun z => coord z i) X / INR (length X)).
Proof.
  intros H. unfold hard_mean. replace (filter (is_best d B X x) X) with X; auto.
  symmetry. transitivity (filter (fun _ => true) X).
  - apply filter_ext. intros z. unfold is_best. apply forallb_forall. intros z' _. rewrite !H.
    destruct (Rle_dec 0 0); auto; lra.
  - induction X; simpl; congruence.
Qed.
Lemma soft_mean_uniform d tau B X x : (forall z, score d B x z = 0) ->
  soft_mean d tau B X x = tabulate d (fun i => sum_over (fun z => coord z i) X / INR (length X)).
Proof.
  intros H. unfold soft_mean. apply tabulate_ext. intros i Hi.
  assert (E : forall z, exp (score d B x z / tau) = 1)
    by (intros; rewrite H; unfold Rdiv; rewrite Rmult_0_l; apply exp_0).
  rewrite (sum_over_ext _ (fun z => exp (score d B x z / tau)) (fun _ => 1) X) by auto.
  rewrite (sum_over_ext _ (fun z => exp (score d B x z / tau) * coord z i) (fun z => coord z i) X) by (intros; rewrite E; lra).
  now rewrite sum_over_const, Rmult_1_r.
Qed.

(* ---- hat, trapezoid, flatten-and-place: functions of one variable made of three or four ReLUs ---- *)
Definition hat a m c s := / (m - a) * relu (s - a) - (/ (m - a) + / (c - m)) * relu (s - m) + / (c - m) * relu (s - c).
Lemma hat_outside a m c s : a < m < c -> s <= a \/ c <= s -> hat a m c s = 0.
Proof. intros H [L|L]; unfold hat, relu.
  - rewrite !Rmax_right by lra. ring.
  - rewrite !Rmax_left by lra. field; lra. Qed.
Lemma hat_middle a m c : a < m < c -> hat a m c m = 1.
Proof. intros H. unfold hat, relu. rewrite (Rmax_left (m - a)), (Rmax_left (m - m)), (Rmax_right (m - c)) by lra. field; lra. Qed.
Definition trapezoid a b c e s :=
  / (b - a) * relu (s - a) - / (b - a) * relu (s - b) - / (e - c) * relu (s - c) + / (e - c) * relu (s - e).
Lemma trapezoid_outside a b c e s : a < b <= c -> c < e -> s <= a \/ e <= s -> trapezoid a b c e s = 0.
Proof. intros H1 H2 [L|L]; unfold trapezoid, relu.
  - rewrite !Rmax_right by lra. ring.
  - rewrite !Rmax_left by lra. field; lra. Qed.
Lemma trapezoid_top a b c e s : a < b <= c -> c < e -> b <= s <= c -> trapezoid a b c e s = 1.
Proof. intros H1 H2 H3. unfold trapezoid, relu.
  rewrite (Rmax_left (s - a)), (Rmax_left (s - b)), (Rmax_right (s - c)), (Rmax_right (s - e)) by lra. field; lra. Qed.
(* The piecewise-linear function through (a, 0), (b, f), (c, g), (e, 0). *)
Definition four_points a b c e f g s :=
  f / (b - a) * relu (s - a) + ((g - f) / (c - b) - f / (b - a)) * relu (s - b)
  + (- g / (e - c) - (g - f) / (c - b)) * relu (s - c) + g / (e - c) * relu (s - e).
(* x_1 e_1 + g(x_1) is the point y for every x_1 in [b, c], coordinate by coordinate (delta = 1 for the first). *)
Lemma flatten_and_place a b c e y delta s : a < b < c -> c < e -> b <= s <= c ->
  delta * s + four_points a b c e (y - delta * b) (y - delta * c) s = y.
Proof. intros H1 H2 H3. unfold four_points, relu.
  rewrite (Rmax_left (s - a)), (Rmax_left (s - b)), (Rmax_right (s - c)), (Rmax_right (s - e)) by lra. field; lra. Qed.
Lemma four_points_outside a b c e f g s : a < b < c -> c < e -> s <= a \/ e <= s -> four_points a b c e f g s = 0.
Proof. intros H1 H2 [L|L]; unfold four_points, relu.
  - rewrite !Rmax_right by lra. ring.
  - rewrite !Rmax_left by lra. field; lra. Qed.

(* ---- dominance, equal norms, the unique maximiser ---- *)
Lemma sum_upto_lt n f g : (0 < n)%nat -> (forall i, (i < n)%nat -> f i < g i) -> sum_upto n f < sum_upto n g.
Proof. intros Hn H. induction n as [|n IH]; [lia|]. simpl. assert (f n < g n) by (apply H; lia).
  destruct n as [|n]; [simpl; lra|]. assert (sum_upto (S n) f < sum_upto (S n) g) by (apply IH; auto; lia). lra. Qed.
Lemma dominance d x p z : (0 < d)%nat -> (forall i, (i < d)%nat -> 0 < coord x i) ->
  (forall i, (i < d)%nat -> coord z i < coord p i) -> dot d x z < dot d x p.
Proof. intros Hd Hx Hp. apply sum_upto_lt; auto. intros i Hi. apply Rmult_lt_compat_l; auto. Qed.
Lemma equal_norms d p z : length p = d -> length z = d -> dot d p p = dot d z z -> p <> z -> dot d p z < dot d p p.
Proof.
  intros Lp Lz E N. pose proof (dot_nonneg d (difference d p z)) as P.
  assert (EW : dot d (difference d p z) (difference d p z) = dot d p p - 2 * dot d p z + dot d z z).
  { rewrite dot_difference, (dot_sym d _ p), (dot_sym d _ z), !dot_difference, (dot_sym d z p). ring. }
  destruct (Req_dec (dot d (difference d p z) (difference d p z)) 0) as [Z|Z]; [|lra].
  exfalso. apply N. apply (token_ext d); auto. intros i Hi. pose proof (dot_self_0 d _ Z i Hi) as W.
  unfold difference in W. rewrite coord_tabulate in W by auto. lra.
Qed.
Lemma hard_mean_unique d B X x s : In s X -> length s = d -> (forall z, In z X -> z = s \/ score d B x z < score d B x s) ->
  hard_mean d B X x = s.
Proof.
  intros HI HL H. unfold hard_mean. set (C := filter (is_best d B X x) X).
  assert (HC : forall z, In z C -> z = s).
  { intros z Hz. apply filter_In in Hz as [Hz M]. destruct (H z Hz) as [|L]; auto. exfalso.
    unfold is_best in M. rewrite forallb_forall in M. specialize (M s HI). destruct (Rle_dec _ _); [lra|discriminate]. }
  assert (HS : In s C).
  { apply filter_In; split; auto. apply forallb_forall. intros z Hz. destruct (Rle_dec _ _) as [|L]; auto.
    exfalso. destruct (H z Hz) as [->|]; lra. }
  assert (0 < INR (length C)) by (apply lt_0_INR; destruct C; [contradiction|simpl; lia]).
  apply (token_ext d); auto using tabulate_length. intros i Hi. rewrite coord_tabulate by auto.
  rewrite (sum_over_ext _ _ (fun _ => coord s i)) by (intros z Hz; now rewrite (HC z Hz)).
  rewrite sum_over_const. field. lra.
Qed.

(* ---- choices that stay inside a subfield: the rationals, or all reals ---- *)
Record subfield (k : R -> Prop) : Prop := Subfield {
  sub_0 : k 0; sub_1 : k 1; sub_plus : forall x y, k x -> k y -> k (x + y); sub_opp : forall x, k x -> k (- x);
  sub_mult : forall x y, k x -> k y -> k (x * y); sub_inv : forall x, x <> 0 -> k x -> k (/ x) }.

Section Choices.
Variable k : R -> Prop.
Hypothesis K : subfield k.
Definition inside_field (x : token) := Forall k x.

Lemma sub_minus x y : k x -> k y -> k (x - y).
Proof. intros. unfold Rminus. apply (sub_plus k K); auto. now apply (sub_opp k K). Qed.
Lemma sub_div x y : y <> 0 -> k x -> k y -> k (x / y).
Proof. intros. unfold Rdiv. apply (sub_mult k K); auto. now apply (sub_inv k K). Qed.
Lemma sub_coord x i : inside_field x -> k (coord x i).
Proof. intros H. unfold coord. destruct (nth_in_or_default i x 0) as [Hin| ->]; [|apply (sub_0 k K)].
  unfold inside_field in H. rewrite Forall_forall in H. auto. Qed.
Lemma sub_tabulate d f : (forall i, (i < d)%nat -> k (f i)) -> inside_field (tabulate d f).
Proof. intros H. apply Forall_map, Forall_forall. intros i Hi. apply in_seq in Hi. apply H. lia. Qed.
Lemma sub_dot d x y : inside_field x -> inside_field y -> k (dot d x y).
Proof. intros Hx Hy. unfold dot. induction d; simpl; [apply (sub_0 k K)|]. apply (sub_plus k K); auto.
  apply (sub_mult k K); now apply sub_coord. Qed.
Lemma sub_INR n : k (INR n).
Proof. induction n; [apply (sub_0 k K)|]. rewrite S_INR. apply (sub_plus k K); auto. apply (sub_1 k K). Qed.
Lemma sub_2 : k 2.
Proof. replace 2 with (1 + 1) by lra. apply (sub_plus k K); apply (sub_1 k K). Qed.

(* an interval around m that meets a finite list at most in m *)
Lemma free_interval (l : list R) m : Forall k l -> k m ->
  exists a c, k a /\ k c /\ a < m < c /\ forall s, In s l -> s <> m -> s <= a \/ c <= s.
Proof. intros Hl Hm. induction Hl as [|s l Hs Hl (a&c&Ka&Kc&H&IH)].
  - exists (m - 1), (m + 1). split; [apply sub_minus; auto; apply (sub_1 k K)|]. split; [apply (sub_plus k K); auto; apply (sub_1 k K)|].
    split; [lra|]. intros s [].
  - destruct (Rtotal_order s m) as [L|[E|G]].
    + exists (Rmax a s), c. split; [unfold Rmax; destruct (Rle_dec a s); auto|]. split; [exact Kc|].
      split; [split; [apply Rmax_lub_lt; lra|lra]|]. intros t [<-|Ht] N.
      * left; apply Rmax_r.
      * destruct (IH t Ht N) as [P|P]; [left|right; auto]. eapply Rle_trans; [exact P|apply Rmax_l].
    + exists a, c. repeat (split; auto). intros t [<-|Ht] N; [congruence|auto].
    + exists a, (Rmin c s). split; [exact Ka|]. split; [unfold Rmin; destruct (Rle_dec c s); auto|].
      split; [split; [lra|apply Rmin_glb_lt; lra]|]. intros t [<-|Ht] N.
      * right; apply Rmin_r.
      * destruct (IH t Ht N) as [P|P]; [left; auto|right]. eapply Rle_trans; [apply Rmin_l|exact P].
Qed.
(* a small positive number outside a finite list *)
Lemma free_positive (l : list R) : Forall k l -> exists t, k t /\ 0 < t /\ ~ In t l /\ forall s, In s l -> 0 < s -> t < s.
Proof.
  intros Hl. destruct (free_interval l 0 Hl (sub_0 k K)) as (a&c&Ka&Kc&H&F). exists (c / 2).
  split; [apply sub_div; auto using sub_2; lra|]. split; [lra|]. split.
  - intros Hin. destruct (F (c / 2) Hin); lra.
  - intros s Hs P. destruct (F s Hs); lra.
Qed.
(* an upper bound of a finite list, at least 1 *)
Lemma upper_bound (l : list R) : Forall k l -> exists b, k b /\ 1 <= b /\ forall s, In s l -> s < b.
Proof. induction 1 as [|s l Hs Hl (b&Kb&B1&IH)].
  - exists 1. split; [apply (sub_1 k K)|]. split; [lra|]. intros s [].
  - exists (Rmax b (s + 1)). split; [unfold Rmax; destruct (Rle_dec b (s + 1)); auto; apply (sub_plus k K); auto; apply (sub_1 k K)|].
    split; [eapply Rle_trans; [exact B1|apply Rmax_l]|]. intros t [<-|Ht].
    + eapply Rlt_le_trans; [|apply Rmax_r]. lra.
    + eapply Rlt_le_trans; [apply IH; auto|apply Rmax_l]. Qed.
(* a positive direction that is orthogonal to no vector of a finite list of vectors other than 0 *)
Lemma positive_direction d (l : list token) : (forall z, In z l -> inside_field z /\ exists i, (i < d)%nat /\ coord z i <> 0) ->
  exists u, length u = d /\ inside_field u /\ (forall i, (i < d)%nat -> 0 < coord u i) /\ forall z, In z l -> dot d u z <> 0.
Proof.
  induction l as [|z l IH]; intros H.
  - exists (tabulate d (fun _ => 1)). split; [apply tabulate_length|]. split; [apply sub_tabulate; intros; apply (sub_1 k K)|].
    split; [intros; rewrite coord_tabulate; auto; lra|intros z []].
  - destruct IH as (u&Lu&Ku&Hu&Hl); [intros; apply H; now right|]. destruct (H z (or_introl eq_refl)) as [Kz (j&Hj&Nj)].
    assert (Z0 : dot d z z <> 0) by (intros E; apply Nj; eapply dot_self_0; eauto).
    destruct (Req_dec (dot d u z) 0) as [E|E].
    2:{ exists u. repeat (split; auto). intros z' [<-|Hz]; auto. }
    set (good := fun z' => if Req_EM_T (dot d z z') 0 then 1 else - dot d u z' / dot d z z').
    set (keep := fun i => if Req_EM_T (coord z i) 0 then 1 else - coord u i / coord z i).
    destruct (free_positive (map good l ++ map keep (seq 0 d))) as (t&Kt&Ht&Nt&St).
    { apply Forall_app; split; apply Forall_map, Forall_forall.
      - intros z' Hz'. unfold good. destruct (Req_EM_T _ 0); [apply (sub_1 k K)|]. destruct (H z' (or_intror Hz')).
        apply sub_div; auto; [apply (sub_opp k K)|]; apply sub_dot; auto.
      - intros i Hi. unfold keep. destruct (Req_EM_T _ 0); [apply (sub_1 k K)|]. apply sub_div; auto; [apply (sub_opp k K)|]; now apply sub_coord. }
    set (u' := tabulate d (fun i => coord u i + t * coord z i)).
    assert (D : forall y, dot d u' y = dot d u y + t * dot d z y).
    { intros y. unfold u'. rewrite dot_sym, dot_tabulate. unfold dot. rewrite <- sum_upto_scale, <- sum_upto_plus.
      apply sum_upto_ext; intros; ring. }
    exists u'. split; [apply tabulate_length|]. split.
    { apply sub_tabulate. intros i _. apply (sub_plus k K); [now apply sub_coord|]. apply (sub_mult k K); auto. now apply sub_coord. }
    split.
    + intros i Hi. unfold u'. rewrite coord_tabulate by auto. pose proof (Hu i Hi) as P.
      destruct (Rle_dec 0 (coord z i)) as [Z|Z]; [pose proof (Rmult_le_pos t (coord z i)); lra|].
      assert (S : t < keep i).
      { apply St; [apply in_or_app; right; apply in_map, in_seq; lia|]. unfold keep. destruct (Req_EM_T _ 0); [lra|].
        replace (- coord u i / coord z i) with (coord u i * / - coord z i) by (field; lra). apply Rmult_lt_0_compat; auto. apply Rinv_0_lt_compat; lra. }
      unfold keep in S. destruct (Req_EM_T (coord z i) 0); [lra|].
      assert (Q : t * - coord z i < (- coord u i / coord z i) * - coord z i) by (apply Rmult_lt_compat_r; lra).
      replace ((- coord u i / coord z i) * - coord z i) with (coord u i) in Q by (field; lra). lra.
    + intros z' [<-|Hz].
      * rewrite D, E, Rplus_0_l. intros F. apply Rmult_integral in F as [F|F]; lra.
      * rewrite D. intros F. destruct (Req_dec (dot d z z') 0) as [Z|Z].
        { rewrite Z, Rmult_0_r, Rplus_0_r in F. now apply (Hl z'). }
        apply Nt. apply in_or_app; left. replace t with (good z'); [now apply in_map|].
        unfold good. destruct (Req_EM_T _ 0); [contradiction|].
        apply Rmult_eq_reg_r with (dot d z z'); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by auto. lra.
Qed.
(* a positive direction whose inner product tells the tokens of a finite list apart *)
Lemma injective_direction d (L : list token) : Forall (fun x => length x = d /\ inside_field x) L ->
  exists u, length u = d /\ inside_field u /\ (forall i, (i < d)%nat -> 0 < coord u i) /\
    forall x y, In x L -> In y L -> x <> y -> dot d u x <> dot d u y.
Proof.
  intros HL. rewrite Forall_forall in HL. set (eq_dec := list_eq_dec Req_EM_T).
  set (D := map (fun xy => difference d (fst xy) (snd xy)) (filter (fun xy => if eq_dec (fst xy) (snd xy) then false else true) (list_prod L L))).
  destruct (positive_direction d D) as (u&Lu&Ku&Hu&HD).
  - intros z Hz. apply in_map_iff in Hz as ([x y]&<-&Hxy). apply filter_In in Hxy as [Hxy N]. apply in_prod_iff in Hxy as [Hx Hy].
    cbn [fst snd] in *. destruct (eq_dec x y) as [|NE]; [discriminate|]. destruct (HL x Hx) as [Lx Kx]. destruct (HL y Hy) as [Ly Ky]. split.
    + apply sub_tabulate. intros. apply sub_minus; now apply sub_coord.
    + destruct (Req_dec (dot d (difference d x y) (difference d x y)) 0) as [E|E].
      * exfalso. apply NE. apply (token_ext d); auto. intros i Hi. pose proof (dot_self_0 d _ E i Hi) as W.
        unfold difference in W. rewrite coord_tabulate in W by auto. lra.
      * assert (G : forall n, (forall i, (i < n)%nat -> coord (difference d x y) i = 0) \/ exists i, (i < n)%nat /\ coord (difference d x y) i <> 0).
        { induction n as [|n [IH|(i&Hi&Ni)]]; [left; intros; lia| |right; exists i; split; auto; lia].
          destruct (Req_dec (coord (difference d x y) n) 0) as [Z|Z]; [left|right; exists n; split; auto].
          intros i Hi. destruct (Nat.eq_dec i n) as [->|]; auto. apply IH; lia. }
        destruct (G d) as [Z|Z]; auto. exfalso. apply E. unfold dot.
        rewrite (sum_upto_ext d _ (fun _ => 0)); [apply sum_upto_0|]. intros i Hi. rewrite Z by auto. lra.
  - exists u. repeat (split; auto). intros x y Hx Hy N E. apply (HD (difference d x y)).
    + apply in_map_iff. exists (x, y). split; auto. apply filter_In. split; [now apply in_prod|]. cbn [fst snd].
      destruct (eq_dec x y); auto.
    + rewrite dot_difference. lra.
Qed.
End Choices.
