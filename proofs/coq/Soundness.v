(* Soundness of the checkers: when a checker of Checker.v answers true, the claim of Semantics.v holds. *)
From Coq Require Import List QArith Qreals Reals Lra Lia Bool NArith.
From Interp Require Import Semantics Numbers Lemmas Checker.
Import ListNotations.
Local Open Scope R_scope.

(* ---- lists ---- *)
Lemma filter_map A B (f : A -> B) p l : filter p (map f l) = map f (filter (fun a => p (f a)) l).
Proof. induction l; simpl; auto. destruct (p (f a)); simpl; now rewrite IHl. Qed.
Lemma Forall2_map_r A B (P : A -> B -> Prop) f l : (forall a, In a l -> P a (f a)) -> Forall2 P l (map f l).
Proof. induction l; simpl; intros H; constructor; auto. Qed.
Lemma Forall2_map_map A B A' B' (P : A -> B -> Prop) (P' : A' -> B' -> Prop) f g l m :
  Forall2 P l m -> (forall a b, In a l -> P a b -> P' (f a) (g b)) -> Forall2 P' (map f l) (map g m).
Proof. induction 1; simpl; intros; constructor; auto. Qed.
Lemma Forall2_trans A B C (P : A -> B -> Prop) (P' : B -> C -> Prop) (P'' : A -> C -> Prop) l m n :
  Forall2 P l m -> Forall2 P' m n -> (forall a b c, P a b -> P' b c -> P'' a c) -> Forall2 P'' l n.
Proof. intros H; revert n; induction H; intros n H2 HR; inversion H2; subst; constructor; eauto. Qed.
Lemma Forall2_len A B (P : A -> B -> Prop) l m : Forall2 P l m -> length l = length m.
Proof. induction 1; simpl; auto. Qed.
Lemma map_option_Forall2 A B (f : A -> option B) l m : map_option f l = Some m -> Forall2 (fun a b => f a = Some b) l m.
Proof. revert m; induction l; simpl; intros m H; [injection H as <-; constructor|].
  destruct (f a) eqn:E; [|discriminate]. destruct (map_option f l); [|discriminate].
  injection H as <-. constructor; auto. Qed.
Lemma forallb_Forall A (p : A -> bool) (P : A -> Prop) l : (forall a, p a = true -> P a) -> forallb p l = true -> Forall P l.
Proof. intros H. rewrite forallb_forall. intros E. apply Forall_forall. auto. Qed.

Section Exact.
Variable F : numbers.
Variable d : nat.
Notation vector := (list F).
Notation real_block := (map_block (phi (n := F))).
Notation real_square := (map_square (phi (n := F))).

Lemma real_length (x : vector) : length (real x) = length x.
Proof. apply map_length. Qed.
Lemma real_stretch a (x : vector) : real (stretch F a x) = map (Rmult (phi a)) (real x).
Proof.
  unfold stretch, real. destruct (eqb a one) eqn:E.
  - apply phi_eqb in E. rewrite phi_one in E. rewrite E, map_map. apply map_ext. intros; ring.
  - rewrite !map_map. apply map_ext. intros; apply phi_mul.
Qed.
Lemma stretch_length a (x : vector) : length (stretch F a x) = length x.
Proof. unfold stretch. destruct (eqb a one); auto. apply map_length. Qed.
Lemma coord_zip_add (x y : vector) i : length x = d -> length y = d -> (i < d)%nat ->
  coord (real (zip add x y)) i = coord (real x) i + coord (real y) i.
Proof. intros. rewrite !coord_real, (entry_zip F add x y i d), phi_add by auto. reflexivity. Qed.

Lemma move_sound whs : Forall (fun wh => length (fst wh) = d) whs -> forall x : vector, length x = d ->
  length (fold_left (move F) whs x) = d /\ forall i, (i < d)%nat ->
  coord (real (fold_left (move F) whs x)) i = coord (real x) i + sum_over (fun wh => phi (snd wh) * coord (real (fst wh)) i) whs.
Proof.
  induction 1 as [|wh whs H HF IH]; intros x Hx; simpl; [split; auto; intros; lra|].
  destruct (IH (move F x wh)) as [L E]; [apply zip_length; auto|]. split; auto.
  intros i Hi. rewrite E by auto. unfold move at 1. rewrite !coord_real, (entry_zip F _ x (fst wh) i d) by auto.
  rewrite phi_add, phi_mul. lra.
Qed.

(* ---- compiled feed-forward layers ---- *)
Definition term_shift (x : token) (u : vector) (t : term F) i : R :=
  coord (real (fst t)) i * sum_over (fun kb => phi (fst kb) * relu (dot d (real u) x + phi (snd kb))) (snd t).
Definition group_shift (x : token) (gs : list (group F)) i : R :=
  sum_over (fun g => sum_over (fun t => term_shift x (fst g) t i) (snd g)) gs.
Definition fits_groups (gs : list (group F)) := Forall (fun g => length (fst g) = d /\ Forall (fun t => length (fst t) = d) (snd g)) gs.

Lemma ratio_sound (w w0 : vector) k : ratio F w w0 = Some k -> real w = map (Rmult (phi k)) (real w0).
Proof. unfold ratio. destruct (equal_vectors _ _) eqn:E; [|discriminate]. intros H. injection H as <-.
  apply real_equal in E. rewrite E. unfold real. rewrite !map_map. apply map_ext. intros; apply phi_mul. Qed.
Lemma add_term_sound x u (w : vector) b ts i : sum_over (fun t => term_shift x u t i) (add_term F w b ts) =
  coord (real w) i * relu (dot d (real u) x + phi b) + sum_over (fun t => term_shift x u t i) ts.
Proof.
  induction ts as [|[w0 kbs] ts IH]; simpl.
  - unfold term_shift at 1; simpl. rewrite phi_one. lra.
  - destruct (ratio F w w0) as [k|] eqn:E; simpl.
    + apply ratio_sound in E. rewrite E, coord_scale. unfold term_shift; simpl. ring.
    + rewrite IH. ring.
Qed.
Lemma add_unit_sound x (u w : vector) b gs i : group_shift x (add_unit F u w b gs) i =
  coord (real w) i * relu (dot d (real u) x + phi b) + group_shift x gs i.
Proof.
  induction gs as [|[u0 ts] gs IH]; unfold group_shift in *; simpl.
  - unfold term_shift; simpl. rewrite phi_one. lra.
  - destruct (equal_vectors u u0) eqn:E; simpl.
    + apply real_equal in E. rewrite add_term_sound, E. ring.
    + rewrite IH. ring.
Qed.
Lemma compile_sound (B : block F) x i : group_shift x (groups (compile F B)) i =
  sum_over (fun n => coord (out_weights n) i * relu (dot d (in_weights n) x + bias n)) (neurons (real_block B)).
Proof. simpl. induction (neurons B) as [|n ns IH]; simpl; [reflexivity|]. now rewrite add_unit_sound, IH. Qed.
Lemma add_term_fits (w : vector) b ts : length w = d -> Forall (fun t => length (fst t) = d) ts ->
  Forall (fun t => length (fst t) = d) (add_term F w b ts).
Proof. intros Hw. induction ts as [|[w0 kbs] ts IH]; simpl; intros H; [repeat constructor; auto|].
  apply Forall_cons_iff in H as [H1 H2]. destruct (ratio F w w0); constructor; auto. Qed.
Lemma add_unit_fits (u w : vector) b gs : length u = d -> length w = d -> fits_groups gs -> fits_groups (add_unit F u w b gs).
Proof. intros Hu Hw. unfold fits_groups. induction gs as [|[u0 ts] gs IH]; simpl; intros H.
  - repeat constructor; auto.
  - apply Forall_cons_iff in H as [H1 H2]. destruct (equal_vectors u u0); constructor; simpl in *; auto.
    split; [tauto|]. apply add_term_fits; tauto. Qed.
Lemma compile_fits (B : block F) : fits_block d B -> fits_groups (groups (compile F B)).
Proof. intros (H&_). simpl. induction H as [|n ns [H1 H2] H IH]; simpl; [constructor|]. now apply add_unit_fits. Qed.

Lemma amount_sound s kbs : phi (amount F s kbs) = sum_over (fun kb => phi (fst kb) * relu (phi s + phi (snd kb))) kbs.
Proof.
  induction kbs as [|[k b] kbs IH]; simpl; [apply phi_zero|]. rewrite <- phi_lazy_add. unfold relu at 1.
  destruct (leb (lazy_add s b) zero) eqn:E.
  - apply phi_leb in E. rewrite phi_zero in E. rewrite Rmax_right by auto. rewrite IH. lra.
  - apply leb_false in E. rewrite phi_zero in E. rewrite Rmax_left by lra. rewrite phi_lazy_add, phi_lazy_mul, IH. lra.
Qed.
(* what is remembered is right *)
Definition remembers (m : memo F) (x : vector) : Prop := match m with
  | Some (u, s) => phi s = dot d (real u) (real x)
  | None => True end.
Lemma recall_sound m (u x : vector) : length u = d -> remembers m x -> phi (recall F m u x) = dot d (real u) (real x).
Proof.
  intros Hu Hm. unfold recall. destruct m as [[u0 s]|]; [|now rewrite (phi_product F d) by lia].
  destruct (equal_vectors u u0) eqn:E; [|now rewrite (phi_product F d) by lia]. apply real_equal in E. now rewrite E.
Qed.
Lemma shifts_sound gs m (x : vector) i : fits_groups gs -> remembers m x ->
  Forall (fun wh => length (fst wh) = d) (shifts F gs m x) /\
  sum_over (fun wh => phi (snd wh) * coord (real (fst wh)) i) (shifts F gs m x) = group_shift (real x) gs i.
Proof.
  intros HG Hm. unfold shifts, group_shift. induction HG as [|[u ts] gs [Hu Ht] H [IH1 IH2]]; simpl; [split; [constructor|auto]|].
  simpl in Hu, Ht. rewrite sum_over_app, IH2. split.
  - apply Forall_app; split; auto. clear -Ht. induction Ht as [|t ts Ht Hts IH]; simpl; [constructor|].
    apply Forall_app; split; auto. destruct (is_zero _); repeat constructor; auto.
  - f_equal. clear -Hu Hm. induction ts as [|t ts IH]; simpl; auto. rewrite sum_over_app, IH. f_equal.
    assert (E : phi (amount F (recall F m u x) (snd t)) = sum_over (fun kb => phi (fst kb) * relu (dot d (real u) (real x) + phi (snd kb))) (snd t))
      by (rewrite amount_sound, recall_sound by auto; auto).
    unfold term_shift. rewrite <- E. destruct (is_zero _) eqn:Z; simpl; [apply phi_is_zero in Z; rewrite Z; lra|lra].
Qed.
Lemma moved_sound (B : block F) m (x : vector) : fits_block d B -> length x = d -> remembers m x ->
  let y := fold_left (move F) (shifts F (groups (compile F B)) m x) (stretch F (c_eta (compile F B)) x) in
  length y = d /\ real y = feed_forward d (real_block B) (real x).
Proof.
  intros HB Hx Hm. cbv zeta.
  pose proof (compile_fits B HB) as HG. destruct (shifts_sound _ m x 0 HG Hm) as [HF _].
  destruct (move_sound _ HF (stretch F (c_eta (compile F B)) x)) as [L E]; [now rewrite stretch_length|].
  split; auto. apply (token_ext d); [now rewrite real_length|apply tabulate_length|]. intros i Hi.
  rewrite E by auto. destruct (shifts_sound _ m x i HG Hm) as [_ ->]. unfold feed_forward. rewrite coord_tabulate by auto.
  now rewrite compile_sound, real_stretch, coord_scale.
Qed.
Definition sound_token (xm : vector * memo F) : Prop := length (fst xm) = d /\ remembers (snd xm) (fst xm).
Lemma exact_feed_forward_sound (B : block F) xm : fits_block d B -> sound_token xm ->
  sound_token (exact_feed_forward F (compile F B) xm) /\
  real (fst (exact_feed_forward F (compile F B) xm)) = feed_forward d (real_block B) (real (fst xm)).
Proof.
  destruct xm as [x m]. intros HB [Hx Hm]. cbn [fst snd] in *. unfold exact_feed_forward, sound_token.
  pose proof (compile_fits B HB) as HG. pose proof (fun m => moved_sound B m x HB Hx) as HM. cbv zeta in HM.
  destruct (groups (compile F B)) as [|[u ts] gs] eqn:EG.
  - destruct (HM None I) as [L E]. cbn [fst snd]. repeat split; auto.
  - inversion HG as [|? ? [Hu _] _]; subst. cbn [fst] in Hu.
    pose proof (recall_sound m u x Hu Hm) as HR. set (m' := Some (u, recall F m u x)) in *.
    assert (Hm' : remembers m' x) by exact HR. cbv zeta.
    match goal with |- context [match ?w with [] => _ | _ :: _ => _ end] =>
      assert (LE : length (fold_left (move F) w (stretch F (c_eta (compile F B)) x)) = d
        /\ real (fold_left (move F) w (stretch F (c_eta (compile F B)) x)) = feed_forward d (real_block B) (real x)) by exact (HM m' Hm');
      destruct w as [|wh whs]; destruct LE as [L E]; cbn [fold_left] in L, E end.
    + destruct (eqb (c_eta (compile F B)) one) eqn:E1; cbn [fst snd].
      * unfold stretch in E. rewrite E1 in E. split; [split; [exact Hx|exact Hm']|exact E].
      * split; [split; [exact L|exact I]|exact E].
    + split; [split; [exact L|exact I]|exact E].
Qed.
Lemma exact_square_sound (M : square F) (x : vector) : fits_square d M -> length x = d ->
  length (exact_square F M x) = d /\ real (exact_square F M x) = apply_square d (real_square M) (real x).
Proof.
  intros HM Hx. unfold exact_square.
  assert (HF : Forall (fun wh => length (fst wh) = d) (map (fun lr => (fst lr, product (snd lr) x)) (outers M))).
  { apply Forall_map. apply Forall_impl with (2 := HM). simpl; tauto. }
  destruct (move_sound _ HF (stretch F (scale M) x)) as [L E]; [now rewrite stretch_length|]. split; auto.
  apply (token_ext d); [now rewrite real_length|apply tabulate_length|]. intros i Hi.
  rewrite E by auto. unfold apply_square. rewrite coord_tabulate by auto. rewrite real_stretch, coord_scale. f_equal.
  simpl. rewrite !sum_over_map. apply sum_over_ext. intros lr Hlr. simpl.
  unfold fits_square in HM. rewrite Forall_forall in HM. destruct (HM lr Hlr) as [_ H2].
  rewrite (phi_product F d) by lia. apply Rmult_comm.
Qed.

(* ---- attention ---- *)
Lemma exact_score_sound (M : square F) (x z : vector) : fits_square d M -> length x = d -> length z = d ->
  phi (exact_score F M x (rights F M x) (z, lefts F M z)) = dot d (apply_square d (real_square M) (real x)) (real z).
Proof.
  intros HM Hx Hz. rewrite dot_apply_square. unfold exact_score. cbn [fst snd].
  assert (E : phi (product (rights F M x) (lefts F M z)) =
    sum_over (fun lr => dot d (snd lr) (real x) * dot d (fst lr) (real z)) (outers (real_square M))).
  { unfold rights, lefts. simpl. rewrite sum_over_map. simpl. unfold fits_square in HM.
    induction HM as [|lr l [H1 H2] HM IH]; simpl; [apply phi_product_nil|].
    rewrite phi_product_cons, IH, !(phi_product F d) by lia. reflexivity. }
  rewrite <- E. cbn [map_square scale]. destruct (is_zero (scale M)) eqn:Z.
  - apply phi_is_zero in Z. rewrite Z. lra.
  - rewrite phi_add, phi_mul, (phi_product F d) by lia. reflexivity.
Qed.
Lemma leb_cases (a b : F) : {leb a b = true /\ phi a <= phi b} + {leb a b = false /\ phi b < phi a}.
Proof. destruct (leb a b) eqn:E; [left|right]; split; auto. now apply phi_leb. now apply leb_false. Qed.
Lemma largest_spec S : forall m s : F, leb (largest F m S) s = (leb m s && forallb (fun a => leb a s) S)%bool.
Proof. induction S as [|a S IH]; intros m s; simpl; [now rewrite andb_true_r|]. rewrite IH, andb_assoc. f_equal.
  destruct (leb_cases m a) as [[E L]|[E L]], (leb_cases m s) as [[E2 L2]|[E2 L2]],
    (leb_cases a s) as [[E3 L3]|[E3 L3]]; rewrite E, ?E2, ?E3; auto; exfalso; lra. Qed.
Lemma exact_best_sound (B : block F) X x : fits_square d (score_matrix B) -> Forall (fun z => length z = d) X -> length x = d ->
  map real (exact_best F (score_matrix B) (map (fun z => (z, lefts F (score_matrix B) z)) X) x) =
  filter (is_best d (real_block B) (map real X) (real x)) (map real X).
Proof.
  intros HM HX Hx. unfold exact_best. set (M := score_matrix B). rewrite map_map. cbn [fst].
  set (f := fun z => exact_score F M x (rights F M x) (z, lefts F M z)).
  assert (Hf : forall z, In z X -> phi (f z) = score d (real_block B) (real x) (real z)).
  { intros z Hz. rewrite Forall_forall in HX. apply exact_score_sound; auto. }
  rewrite filter_map.
  rewrite (filter_ext_in (fun a => is_best d (real_block B) (map real X) (real x) (real a)) (fun a => forallb (fun z => leb (f z) (f a)) X)).
  - change (fun z => (z, exact_score F M x (rights F M x) (z, lefts F M z))) with (fun z => (z, f z)).
    clearbody f. clear Hf HX. destruct X as [|z X]; [reflexivity|].
    set (S := map (fun z => (z, f z)) (z :: X)). cbn [map] in S.
    replace (match S with [] => [] | s :: S' => _ end)
      with (map fst (filter (fun zs => leb (largest F (f z) (map f X)) (snd zs)) (map (fun z => (z, f z)) (z :: X)))).
    + rewrite filter_map. cbn [snd]. rewrite !map_map. cbn [fst]. f_equal. apply filter_ext. intros a.
      rewrite largest_spec. simpl. f_equal. induction X; simpl; congruence.
    + unfold S. cbn [map fst snd]. rewrite map_map. reflexivity.
  - intros a Ha. unfold is_best. 
    assert (G : forall l, incl l X -> forallb (fun z' => if Rle_dec (score d (real_block B) (real x) z') (score d (real_block B) (real x) (real a)) then true else false)
       (map real l) = forallb (fun z => leb (f z) (f a)) l).
    { induction l as [|z l IH]; simpl; intros HI; auto. rewrite IH by (intros ? ?; apply HI; now right). f_equal.
      rewrite <- !Hf by (auto; apply HI; now left). destruct (Rle_dec _ _) as [L|L]; symmetry.
      - now apply phi_leb.
      - destruct (leb _ _) eqn:LL; auto. apply phi_leb in LL. lra. }
    apply G, incl_refl.
Qed.
Lemma phi_inverse n : (0 < n)%nat -> phi (inverse F n) = / INR n.
Proof. intros H. unfold inverse. rewrite phi_of_Q. unfold Q2R. cbn [Qnum Qden].
  rewrite Rmult_1_l. f_equal. rewrite <- positive_nat_Z, Nat2Pos.id by lia.
  now rewrite <- INR_IZR_INZ. Qed.
Lemma vector_sum_sound (Z : list vector) : Forall (fun z => length z = d) Z -> forall x : vector, length x = d ->
  length (fold_left (zip add) Z x) = d /\ forall i, (i < d)%nat ->
  coord (real (fold_left (zip add) Z x)) i = coord (real x) i + sum_over (fun z => coord z i) (map real Z).
Proof.
  induction 1 as [|z Z H HF IH]; intros x Hx; simpl; [split; auto; intros; lra|].
  destruct (IH (zip add x z)) as [L E]; [now apply zip_length|]. split; auto.
  intros i Hi. rewrite E, coord_zip_add by auto. lra.
Qed.
Lemma exact_mean_sound (Z : list vector) : Z <> [] -> Forall (fun z => length z = d) Z ->
  length (exact_mean F Z) = d /\ forall i, (i < d)%nat ->
  coord (real (exact_mean F Z)) i = sum_over (fun z => coord z i) (map real Z) / INR (length Z).
Proof.
  intros H0 HF. destruct Z as [|z [|z' Z]]; [congruence| |].
  - apply Forall_cons_iff in HF as [Hz _]. split; auto. intros i Hi. simpl. field.
  - apply Forall_cons_iff in HF as [Hz HF']. unfold exact_mean. set (W := z' :: Z) in *.
    destruct (vector_sum_sound W HF' z Hz) as [L E]. split; [now rewrite map_length|].
    intros i Hi. rewrite coord_real, (entry_map F _ _ i d), phi_mul, <- coord_real, E, phi_inverse by (auto; simpl; lia).
    cbn [map sum_over]. unfold Rdiv. ring.
Qed.
Lemma best_nonempty B X x : X <> [] -> filter (is_best d B X x) X <> [].
Proof.
  intros H E. destruct (max_exists _ (score d B x) X H) as [z [I M]].
  assert (In z (filter (is_best d B X x) X)).
  { apply filter_In; split; auto. apply forallb_forall. intros z' Hz.
    destruct (Rle_dec _ _) as [L|L]; [reflexivity|exfalso; apply L, M, Hz]. }
  rewrite E in *. contradiction.
Qed.
Lemma zero_square_sound (M : square F) x i : is_zero_square F M = true -> (i < d)%nat -> coord (apply_square d (real_square M) x) i = 0.
Proof.
  intros H Hi. unfold is_zero_square in H. apply andb_true_iff in H as [H1 H2]. apply phi_is_zero in H1.
  unfold apply_square. rewrite coord_tabulate by auto. cbn [map_square scale outers]. rewrite H1, sum_over_map.
  rewrite (sum_over_ext _ _ (fun _ => 0)); [rewrite sum_over_0; lra|]. intros lr Hlr. cbn [fst snd].
  rewrite forallb_forall in H2. specialize (H2 lr Hlr). apply orb_true_iff in H2 as [Z|Z].
  - change (map phi (fst lr)) with (real (fst lr)). rewrite coord_real, zero_vector_entry by auto. lra.
  - replace (dot d (map phi (snd lr)) x) with 0; [lra|]. symmetry. unfold dot.
    rewrite (sum_upto_ext d _ (fun _ => 0)); [apply sum_upto_0|]. intros k _.
    change (map phi (snd lr)) with (real (snd lr)). rewrite coord_real, zero_vector_entry by auto. lra.
Qed.
Lemma zero_score B x z : is_zero_square F (score_matrix B) = true -> score d (real_block B) x z = 0.
Proof. intros H. unfold score, dot. rewrite (sum_upto_ext d _ (fun _ => 0)); [apply sum_upto_0|].
  intros i Hi. cbn [map_block score_matrix]. rewrite (zero_square_sound _ _ i H Hi). lra. Qed.
Lemma attended_0 B X x : attended d 0 B X x = hard_mean d B X x.
Proof. unfold attended. destruct (Req_EM_T 0 0); [auto|congruence]. Qed.

Lemma attention_output rho (x y : vector) y' : length x = d -> length y = d -> real y = y' ->
  real (zip add (stretch F rho x) y) = tabulate d (fun i => phi rho * coord (real x) i + coord y' i).
Proof.
  intros Hx Hy <-. apply (token_ext d); [rewrite real_length; apply zip_length; auto; now rewrite stretch_length|apply tabulate_length|].
  intros i Hi. rewrite coord_zip_add by (auto; now rewrite stretch_length). rewrite coord_tabulate by auto.
  now rewrite real_stretch, coord_scale.
Qed.
Lemma exact_attention_sound (B : block F) X : fits_block d B -> Forall (fun z => length z = d) X ->
  Forall (fun z => length z = d) (exact_attention F (compile F B) X) /\
  map real (exact_attention F (compile F B) X) = self_attention d 0 (real_block B) (map real X).
Proof.
  intros (_&HA&HV) HX. pose proof HX as HX'. rewrite Forall_forall in HX'.
  unfold exact_attention, self_attention. cbn [compile c_value c_score c_rho].
  destruct (is_zero_square F (value_matrix B)) eqn:ZV; [|destruct (is_zero_square F (score_matrix B)) eqn:ZA].
  - split.
    + apply Forall_map. apply Forall_impl with (2 := HX). intros x Hx. now rewrite stretch_length.
    + rewrite !map_map. apply map_ext_in. intros x Hx. apply (token_ext d); [rewrite real_length, stretch_length; auto|apply tabulate_length|].
      intros i Hi. rewrite coord_tabulate by auto. cbn [map_block value_matrix rho].
      rewrite (zero_square_sound _ _ i ZV Hi), real_stretch, coord_scale. lra.
  - destruct X as [|x0 X0]; [split; [constructor|reflexivity]|]. set (X := x0 :: X0) in *.
    destruct (exact_mean_sound X ltac:(discriminate) HX) as [Lm Em].
    destruct (exact_square_sound (value_matrix B) (exact_mean F X) HV Lm) as [Lv Ev]. split.
    + apply Forall_map. apply Forall_impl with (2 := HX). intros x Hx. apply zip_length; auto. now rewrite stretch_length.
    + rewrite !map_map. apply map_ext_in. intros x Hx. apply attention_output; auto. rewrite Ev. cbn [map_block value_matrix].
      f_equal. rewrite attended_0, hard_mean_uniform by (intros; now apply zero_score).
      apply (token_ext d); [now rewrite real_length|apply tabulate_length|]. intros i Hi.
      rewrite Em, coord_tabulate by auto. now rewrite map_length.
  - assert (G : forall x, In x X -> let y := exact_square F (value_matrix B) (exact_mean F (exact_best F (score_matrix B)
        (map (fun z => (z, lefts F (score_matrix B) z)) X) x)) in
      length y = d /\ real y = apply_square d (real_square (value_matrix B)) (attended d 0 (real_block B) (map real X) (real x))).
    { intros x Hx. pose proof (exact_best_sound B X x HA HX (HX' x Hx)) as HB. set (best := exact_best _ _ _ _) in *.
      assert (N : best <> []).
      { intros E. rewrite E in HB. symmetry in HB. revert HB. apply best_nonempty. destruct X; [contradiction|discriminate]. }
      assert (HF : Forall (fun z => length z = d) best).
      { apply Forall_forall. intros z Hz. apply (in_map real) in Hz. rewrite HB in Hz. apply filter_In in Hz as [Hz _].
        apply in_map_iff in Hz as (z'&E&Hz'). rewrite <- (real_length z), <- E, real_length. auto. }
      destruct (exact_mean_sound best N HF) as [Lm Em].
      destruct (exact_square_sound (value_matrix B) (exact_mean F best) HV Lm) as [Lv Ev]. split; auto. rewrite Ev.
      f_equal. rewrite attended_0. unfold hard_mean. rewrite <- HB.
      apply (token_ext d); [now rewrite real_length|apply tabulate_length|]. intros i Hi.
      rewrite Em, coord_tabulate by auto. now rewrite map_length. }
    split.
    + apply Forall_map, Forall_forall. intros x Hx. destruct (G x Hx). apply zip_length; [rewrite stretch_length; auto|auto].
    + rewrite !map_map. apply map_ext_in. intros x Hx. destruct (G x Hx). apply attention_output; auto.
Qed.
Lemma sound_forget X : Forall (fun z => length z = d) X -> Forall sound_token (map (forget F) X).
Proof. intros H. apply Forall_map. apply Forall_impl with (2 := H). intros x Hx. split; [exact Hx|exact I]. Qed.
Lemma map_fst_forget X : map fst (map (forget F) X) = X.
Proof. rewrite map_map. apply map_id. Qed.
Lemma sound_lengths X : Forall sound_token X -> Forall (fun z => length z = d) (map fst X).
Proof. intros H. apply Forall_map. apply Forall_impl with (2 := H). intros x Hx. apply Hx. Qed.
Lemma exact_block_sound (B : block F) X : fits_block d B -> Forall sound_token X ->
  Forall sound_token (exact_block F (compile F B) X) /\
  map real (map fst (exact_block F (compile F B) X)) = run_block d 0 (real_block B) (map real (map fst X)).
Proof.
  intros HB HX. unfold exact_block, run_block. set (Z := map (exact_feed_forward F (compile F B)) X).
  assert (HZ : Forall sound_token Z /\ map real (map fst Z) = map (feed_forward d (real_block B)) (map real (map fst X))).
  { unfold Z. rewrite !map_map. split.
    - apply Forall_map. apply Forall_impl with (2 := HX). intros x Hx. now apply exact_feed_forward_sound.
    - apply map_ext_in. intros x Hx. rewrite Forall_forall in HX. now apply exact_feed_forward_sound; auto. }
  destruct HZ as [HZ <-]. destruct (andb _ _) eqn:C.
  - split; auto. apply andb_true_iff in C as [C1 C2]. cbn [compile c_value c_rho] in C1, C2. apply phi_eqb in C2. rewrite phi_one in C2.
    unfold self_attention. rewrite !map_map. apply map_ext_in. intros x Hx. rewrite Forall_forall in HZ. destruct (HZ x Hx) as [Lx _].
    apply (token_ext d); [now rewrite real_length|apply tabulate_length|]. intros i Hi. rewrite coord_tabulate by auto.
    cbn [map_block value_matrix rho]. rewrite (zero_square_sound _ _ i C1 Hi), C2. lra.
  - destruct (exact_attention_sound B (map fst Z) HB (sound_lengths Z HZ)) as [HW EW].
    split; [now apply sound_forget|]. now rewrite map_fst_forget.
Qed.
Lemma exact_run_sound (T : transformer F) : Forall (fits_block d) T -> forall X, Forall (fun z => length z = d) X ->
  map real (exact_run F (map (compile F) T) X) = run d 0 (map real_block T) (map real X).
Proof.
  intros HT X HX. unfold exact_run, run. rewrite <- (map_fst_forget X) at 2. pose proof (sound_forget X HX) as HS.
  generalize dependent (map (forget F) X). clear X HX. induction HT as [|B T HB HT IH]; intros X HX; [reflexivity|]. cbn [map fold_left].
  destruct (exact_block_sound B X HB HX) as [H1 H2]. rewrite IH by auto. now rewrite H2.
Qed.

(* ---- comparison with the targets ---- *)
Lemma same_tokens_sound X Y : same_tokens F X Y = true -> same_set (map real X) (map real Y).
Proof.
  intros H. apply andb_true_iff in H as [H1 H2]. rewrite forallb_forall in H1, H2. intros v. rewrite !in_map_iff. split.
  - intros (x&<-&Hx). specialize (H1 x Hx). apply existsb_exists in H1 as (y&Hy&E). exists y. split; auto.
    symmetry. now apply real_equal.
  - intros (y&<-&Hy). specialize (H2 y Hy). apply existsb_exists in H2 as (x&Hx&E). exists x. split; auto. now apply real_equal.
Qed.
Lemma real_block_of_Q (B : block Q) : real_block (map_block of_Q B) = map_block Q2R B.
Proof.
  destruct B as [e ns r [sa oa] [sv ov]]. unfold map_block, map_square; simpl. rewrite !phi_of_Q, !map_map. f_equal.
  - apply map_ext. intros [w u b]. unfold map_neuron; simpl. rewrite phi_of_Q.
    change (map phi (map of_Q w)) with (real (map (of_Q (n := F)) w)). change (map phi (map of_Q u)) with (real (map (of_Q (n := F)) u)).
    now rewrite !real_of_Q.
  - f_equal. apply map_ext. intros [l s]; simpl. change (map phi (map of_Q l)) with (real (map (of_Q (n := F)) l)).
    change (map phi (map of_Q s)) with (real (map (of_Q (n := F)) s)). now rewrite !real_of_Q.
  - f_equal. apply map_ext. intros [l s]; simpl. change (map phi (map of_Q l)) with (real (map (of_Q (n := F)) l)).
    change (map phi (map of_Q s)) with (real (map (of_Q (n := F)) s)). now rewrite !real_of_Q.
Qed.
Lemma fits_map (S S' : Type) (f : S -> S') (B : block S) : fits_block d B -> fits_block d (map_block f B).
Proof.
  intros (H1&H2&H3). split; [|split]; simpl.
  - apply Forall_map. apply Forall_impl with (2 := H1). intros n [? ?]. split; simpl; now rewrite map_length.
  - apply Forall_map. apply Forall_impl with (2 := H2). intros lr [? ?]. split; simpl; now rewrite map_length.
  - apply Forall_map. apply Forall_impl with (2 := H3). intros lr [? ?]. split; simpl; now rewrite map_length.
Qed.
Lemma in_map_data (S S' : Type) (f : S -> S') data X Y : In (X, Y) (map_data f data) ->
  exists X0 Y0, In (X0, Y0) data /\ X = map (map f) X0 /\ Y = map (map f) Y0.
Proof. unfold map_data. rewrite in_map_iff. intros ([X0 Y0]&E&H). injection E as <- <-. eauto. Qed.
Lemma map_real_of_Q X : map real (map (map (of_Q (n := F))) X) = map (map Q2R) X.
Proof. rewrite map_map. apply map_ext. apply real_of_Q. Qed.

Lemma exact_check_sound (T : transformer Q) data : Forall (fits_block d) T -> fits_data d data ->
  exact_check F T data = true -> interpolates d 0 (map (map_block Q2R) T) (map_data Q2R data).
Proof.
  intros HT [_ HD] H X Y HI. apply in_map_data in HI as (X0&Y0&HI&->&->).
  unfold exact_check in H. rewrite forallb_forall in H.
  specialize (H (map (map of_Q) X0, map (map of_Q) Y0)).
  rewrite <- !map_real_of_Q.
  replace (map (map_block Q2R) T) with (map real_block (map (map_block of_Q) T))
    by (rewrite map_map; apply map_ext; apply real_block_of_Q).
  rewrite <- (exact_run_sound (map (map_block of_Q) T)) with (X := map (map (of_Q (n := F))) X0).
  - apply same_tokens_sound. unfold compile_all in H. rewrite map_map. cbn [fst snd] in H. apply H.
    unfold map_data. apply in_map_iff. exists (X0, Y0). auto.
  - apply Forall_map. apply Forall_impl with (2 := HT). intros; now apply fits_map.
  - rewrite Forall_forall in HD. destruct (HD _ HI) as (_&_&HX&_). apply Forall_map.
    apply Forall_impl with (2 := HX). intros x Hx. now rewrite map_length.
Qed.

(* ---- uniform attention: every temperature gives what temperature 0 gives ---- *)
Lemma uniform_block tau (B : block Q) X : is_uniform F B = true ->
  run_block d tau (map_block Q2R B) X = run_block d 0 (map_block Q2R B) X.
Proof.
  intros H. rewrite <- real_block_of_Q. unfold run_block, self_attention. set (Z := map _ X). apply map_ext_in. intros x Hx.
  unfold is_uniform in H. apply orb_true_iff in H as [H|H].
  - replace (attended d tau (real_block (map_block of_Q B)) Z x) with (attended d 0 (real_block (map_block of_Q B)) Z x); auto.
    rewrite attended_0. unfold attended. destruct (Req_EM_T tau 0); auto.
    rewrite hard_mean_uniform, soft_mean_uniform; auto; intros; now apply zero_score.
  - apply tabulate_ext. intros i Hi. f_equal. cbn [map_block value_matrix] in *. now rewrite !(zero_square_sound _ _ i H Hi).
Qed.
Lemma uniform_run tau (T : transformer Q) : forallb (is_uniform F) T = true -> forall X,
  run d tau (map (map_block Q2R) T) X = run d 0 (map (map_block Q2R) T) X.
Proof. unfold run. induction T as [|B T IH]; simpl; intros H X; auto. apply andb_true_iff in H as [H1 H2].
  now rewrite uniform_block, IH. Qed.

(* ---- boxes ---- *)
Definition inside (x : token) (b : box F) := length x = d /\ length (fst b) = d /\ length (snd b) = d /\
  forall i, (i < d)%nat -> Rabs (coord x i - phi (entry (fst b) i)) <= phi (entry (snd b) i).
Definition within (t : R) (mr : F * F) := Rabs (t - phi (fst mr)) <= phi (snd mr).

Lemma raise_le (a : F) : phi a <= phi (raise F a).
Proof. unfold raise. destruct (leb _ _) eqn:E; [now apply phi_leb|lra]. Qed.
Lemma phi_half_power_pos p : phi (half_power_pos F p) = (/ 2) ^ Pos.to_nat p.
Proof. induction p; cbn [half_power_pos].
  - rewrite !phi_mul, IHp, phi_half, Pos2Nat.inj_xI. simpl. rewrite Nat.add_0_r, pow_add. ring.
  - rewrite phi_mul, IHp, Pos2Nat.inj_xO. simpl. rewrite Nat.add_0_r, pow_add. ring.
  - rewrite phi_half. simpl. ring. Qed.
Lemma phi_half_power k : phi (half_power F k) = (/ 2) ^ N.to_nat k.
Proof. destruct k; simpl; [apply phi_one|apply phi_half_power_pos]. Qed.
Lemma phi_of_N k : phi (of_N F k) = INR (N.to_nat k).
Proof. unfold of_N. rewrite phi_of_Q. unfold Q2R. cbn [inject_Z Qnum Qden].
  rewrite INR_IZR_INZ, N_nat_Z. lra. Qed.
Lemma entry_abs (l : vector) i : phi (entry (map abs l) i) = Rabs (phi (entry l i)).
Proof. unfold entry. revert i; induction l; intros i.
  - destruct i; simpl; rewrite phi_zero, Rabs_R0; auto.
  - destruct i; simpl; [apply phi_abs|apply IHl]. Qed.

Lemma dot_minus_l u x y : sum_upto d (fun k => coord u k * (coord x k - coord y k)) = dot d u x - dot d u y.
Proof. unfold dot. rewrite (sum_upto_ext d _ (fun k => coord u k * coord x k + -1 * (coord u k * coord y k))) by (intros; ring).
  rewrite sum_upto_plus, sum_upto_scale. lra. Qed.
Lemma box_product_sound (u : vector) x b : length u = d -> inside x b -> within (dot d (real u) x) (box_product F u b).
Proof.
  intros Hu (_&L1&L2&H). unfold within, box_product. cbn [fst snd].
  rewrite !(phi_product F d) by (rewrite ?map_length; lia). rewrite <- dot_minus_l.
  eapply Rle_trans; [apply sum_upto_abs|]. unfold dot. apply sum_upto_le. intros i Hi. rewrite Rabs_mult.
  rewrite !coord_real, entry_abs. apply Rmult_le_compat_l; [apply Rabs_pos|auto].
Qed.
Lemma box_product2_sound x z bx bz : inside x bx -> inside z bz ->
  Rabs (dot d x z - phi (product (fst bx) (fst bz))) <=
  phi (product (map abs (fst bx)) (snd bz)) + phi (product (map abs (fst bz)) (snd bx)) + phi (product (snd bx) (snd bz)).
Proof.
  intros (_&L1&L2&H) (_&L3&L4&H'). rewrite !(phi_product F d) by (rewrite ?map_length; lia). unfold dot.
  rewrite <- !sum_upto_plus.
  replace (_ - _) with (sum_upto d (fun i => coord x i * coord z i - coord (real (fst bx)) i * coord (real (fst bz)) i)).
  - eapply Rle_trans; [apply sum_upto_abs|]. apply sum_upto_le. intros i Hi.
    rewrite !coord_real, !entry_abs. apply product_error; auto.
  - rewrite (sum_upto_ext d _ (fun i => coord x i * coord z i + -1 * (coord (real (fst bx)) i * coord (real (fst bz)) i))) by (intros; ring).
    rewrite sum_upto_plus, sum_upto_scale. lra.
Qed.

Lemma box_amount_sound m r kbs h slope s : box_amount F m r kbs = Some (h, slope) -> Rabs (s - phi m) <= phi r ->
  sum_over (fun kb => phi (fst kb) * relu (s + phi (snd kb))) kbs = phi h + phi slope * (s - phi m).
Proof.
  intros H Hs. revert h slope H. induction kbs as [|[k b] kbs IH]; simpl; intros h slope H.
  - injection H as <- <-. rewrite phi_zero. lra.
  - destruct (box_amount F m r kbs) as [[h' slope']|]; [|discriminate]. rewrite (IH h' slope') by auto. clear IH.
    apply Rabs_bounds in Hs. destruct (leb r (add m b)) eqn:E1; [|destruct (leb (add (add m b) r) zero) eqn:E2; [|discriminate]].
    + injection H as <- <-. apply phi_leb in E1. rewrite phi_add in E1. unfold relu. rewrite Rmax_left by lra.
      rewrite !phi_add, phi_mul, phi_add. ring.
    + injection H as <- <-. apply phi_leb in E2. rewrite !phi_add, phi_zero in E2. unfold relu. rewrite Rmax_right by lra. lra.
Qed.
Definition fits_pieces (ps : list (piece F)) := Forall (fun p => length (fst (fst p)) = d /\ length (snd (fst p)) = d) ps.
Lemma box_pieces_sound gs x b ps : fits_groups gs -> inside x b -> box_pieces F gs b = Some ps -> fits_pieces ps /\
  forall i, group_shift x gs i = sum_over (fun p => coord (real (fst (fst p))) i *
    (phi (fst (snd p)) + phi (snd (snd p)) * sum_upto d (fun k => coord (real (snd (fst p))) k * (coord x k - phi (entry (fst b) k))))) ps.
Proof.
  intros HG Hb. unfold box_pieces.
  match goal with |- match ?m with _ => _ end = _ -> _ => destruct m as [l|] eqn:E; [|discriminate] end. intros H. injection H as <-.
  apply map_option_Forall2 in E. revert l E. induction HG as [|[u ts] gs [Hu Ht] HG IH]; intros l E; inversion E as [|? l0 ? l1 E0 E1]; subst.
  - split; [constructor|reflexivity].
  - destruct (IH l1 E1) as [IH1 IH2]. clear IH. simpl in Hu, Ht, E0. apply map_option_Forall2 in E0. simpl concat.
    pose proof (box_product_sound u x b Hu Hb) as HP. unfold within in HP.
    assert (G : fits_pieces l0 /\ forall i, sum_over (fun t => term_shift x u t i) ts = sum_over (fun p => coord (real (fst (fst p))) i *
      (phi (fst (snd p)) + phi (snd (snd p)) * sum_upto d (fun k => coord (real (snd (fst p))) k * (coord x k - phi (entry (fst b) k))))) l0).
    { clear -E0 Ht Hu HP. induction E0 as [|t p ts l0 E E0 IH]; [split; [constructor|reflexivity]|].
      apply Forall_cons_iff in Ht as [Ht1 Ht]. destruct IH as [IH1 IH2]; auto.
      destruct (box_amount _ _ _ _) as [[h s]|] eqn:EA; [|discriminate]. injection E as <-.
      split; [constructor; auto|]. intros i. simpl. rewrite IH2. f_equal. unfold term_shift. f_equal.
      rewrite (box_amount_sound _ _ _ _ _ _ EA HP). f_equal. f_equal. cbn [fst snd].
      unfold box_product. cbn [fst]. rewrite (phi_product F d) by lia. rewrite <- dot_minus_l.
      apply sum_upto_ext. intros; now rewrite (coord_real F (fst b)). }
    destruct G as [G1 G2]. split; [apply Forall_app; auto|]. intros i. unfold group_shift in *. cbn [sum_over fst snd].
    now rewrite sum_over_app, IH2, G2.
Qed.

Lemma linear_radius_length a ps (r : vector) : length (linear_radius F a ps r) = length r.
Proof. unfold linear_radius. destruct (is_zero_vector r); auto. destruct (filter _ ps); now rewrite map_length, ?seq_length. Qed.
Lemma entry_seq (f : nat -> F) n i : (i < n)%nat -> entry (map f (seq 0 n)) i = f i.
Proof. intros H. unfold entry. rewrite (nth_indep _ zero (f O)) by now rewrite map_length, seq_length. now rewrite map_nth, seq_nth. Qed.
Lemma linear_radius_sound a ps (r : vector) (v : nat -> R) : length r = d ->
  (forall k, (k < d)%nat -> Rabs (v k) <= phi (entry r k)) -> forall i, (i < d)%nat ->
  Rabs (phi a * v i + sum_over (fun p => phi (snd p) * coord (real (fst (fst p))) i * sum_upto d (fun k => coord (real (snd (fst p))) k * v k)) ps)
  <= phi (entry (linear_radius F a ps r) i).
Proof.
  intros Hr Hv i Hi. unfold linear_radius. destruct (is_zero_vector r) eqn:Z.
  { assert (V : forall k, (k < d)%nat -> v k = 0).
    { intros k Hk. specialize (Hv k Hk). rewrite zero_vector_entry in Hv by auto. pose proof (Rabs_pos (v k)).
      destruct (Req_dec (v k) 0) as [|N]; auto. apply Rabs_no_R0 in N. lra. }
    rewrite V, (sum_over_ext _ _ (fun _ => 0)), sum_over_0 by (auto; intros; rewrite (sum_upto_ext d _ (fun _ => 0)) by (intros; rewrite V by auto; lra); rewrite sum_upto_0; lra).
    rewrite zero_vector_entry by auto. rewrite Rmult_0_r, Rplus_0_r, Rabs_R0. lra. }
  clear Z.
  set (ps' := filter _ ps).
  assert (E : sum_over (fun p => phi (snd p) * coord (real (fst (fst p))) i * sum_upto d (fun k => coord (real (snd (fst p))) k * v k)) ps
    = sum_over (fun p => phi (snd p) * coord (real (fst (fst p))) i * sum_upto d (fun k => coord (real (snd (fst p))) k * v k)) ps').
  { unfold ps'. induction ps as [|p ps IH]; simpl; auto. destruct (is_zero (snd p)) eqn:Z; simpl; rewrite IH; auto.
    apply phi_is_zero in Z. rewrite Z. lra. }
  rewrite E. clear E. clearbody ps'. clear ps. destruct ps' as [|p0 ps0].
  - simpl sum_over. rewrite Rplus_0_r, Rabs_mult. rewrite (entry_map F _ r i d) by auto.
    eapply Rle_trans; [|apply raise_le]. rewrite phi_mul, phi_abs. apply Rmult_le_compat_l; [apply Rabs_pos|auto].
  - set (ps := p0 :: ps0). clearbody ps. rewrite Hr, entry_seq by auto. eapply Rle_trans; [|apply raise_le].
    rewrite phi_sum, sum_over_seq.
    rewrite (sum_over_ext _ _ (fun p => sum_upto d (fun k => phi (snd p) * (coord (real (fst (fst p))) i * coord (real (snd (fst p))) k) * v k))).
    2: { intros p _. rewrite <- sum_upto_scale. apply sum_upto_ext. intros; ring. }
    rewrite sum_swap, <- (sum_upto_pick d i (phi a) v Hi), <- sum_upto_plus.
    eapply Rle_trans; [apply sum_upto_abs|]. apply sum_upto_le. intros k Hk. specialize (Hv k Hk).
    rewrite <- Rmult_plus_distr_r, Rabs_mult. destruct (is_zero (entry r k)) eqn:Z.
    + apply phi_is_zero in Z. rewrite Z in Hv. rewrite phi_zero. pose proof (Rabs_pos (v k)). replace (Rabs (v k)) with 0 by lra. lra.
    + rewrite phi_mul, phi_abs, phi_add, phi_sum.
      replace (phi (if Nat.eqb k i then a else zero)) with (if Nat.eqb k i then phi a else 0)
        by (destruct (Nat.eqb k i); auto; now rewrite phi_zero).
      rewrite (sum_over_ext _ (fun p => phi (mul _ _)) (fun p => phi (snd p) * (coord (real (fst (fst p))) i * coord (real (snd (fst p))) k))).
      2: { intros; now rewrite !phi_mul, !coord_real. }
      apply Rmult_le_compat_l; [apply Rabs_pos|exact Hv].
Qed.

Lemma box_feed_forward_sound (B : block F) x b b' : fits_block d B -> inside x b -> box_feed_forward F (compile F B) b = Some b' ->
  inside (feed_forward d (real_block B) x) b'.
Proof.
  intros HB Hb H. unfold box_feed_forward in H. destruct (box_pieces _ _ _) as [ps|] eqn:E; [|discriminate]. injection H as <-.
  destruct (box_pieces_sound _ x b ps (compile_fits B HB) Hb E) as [HP G]. destruct Hb as (L0&L1&L2&Hb).
  set (whs := filter _ _).
  assert (HF : Forall (fun wh => length (fst wh) = d) whs).
  { unfold whs. apply Forall_forall. intros wh Hwh. apply filter_In in Hwh as [Hwh _]. apply in_map_iff in Hwh as (p&<-&Hp).
    unfold fits_pieces in HP. rewrite Forall_forall in HP. apply HP in Hp. simpl. tauto. }
  destruct (move_sound whs HF (stretch F (c_eta (compile F B)) (fst b))) as [L Ec]; [now rewrite stretch_length|].
  split; [apply tabulate_length|]. split; [exact L|]. split; [cbn [snd]; now rewrite linear_radius_length|].
  intros i Hi. cbn [fst snd]. rewrite <- coord_real, Ec by auto. rewrite real_stretch, coord_scale, coord_real.
  unfold feed_forward. rewrite coord_tabulate by auto. rewrite <- compile_sound, G. cbn [compile c_eta map_block eta].
  eapply Rle_trans; [|apply linear_radius_sound with (v := fun k => coord x k - phi (entry (fst b) k)); auto].
  right. f_equal. rewrite sum_over_map. cbn [fst snd].
  assert (E2 : sum_over (fun wh => phi (snd wh) * coord (real (fst wh)) i) whs = sum_over (fun p => coord (real (fst (fst p))) i * phi (fst (snd p))) ps).
  { unfold whs. clear. induction ps as [|p ps IH]; simpl; auto. destruct (is_zero (fst (snd p))) eqn:Z; simpl; rewrite IH.
    - apply phi_is_zero in Z. rewrite Z. lra.
    - lra. }
  rewrite E2. set (D := fun p : piece F => sum_upto d (fun k => coord (real (snd (fst p))) k * (coord x k - phi (entry (fst b) k)))).
  rewrite (sum_over_ext _ _ (fun p => coord (real (fst (fst p))) i * phi (fst (snd p)) + phi (snd (snd p)) * coord (real (fst (fst p))) i * D p) ps)
    by (intros; unfold D; ring).
  rewrite sum_over_plus. unfold D. ring.
Qed.
Lemma box_square_sound (M : square F) x b : fits_square d M -> inside x b -> inside (apply_square d (real_square M) x) (box_square F M b).
Proof.
  intros HM (L0&L1&L2&H). destruct (exact_square_sound M (fst b) HM L1) as [L E].
  split; [apply tabulate_length|]. split; [exact L|]. split; [unfold box_square; cbn [snd]; now rewrite linear_radius_length|].
  intros i Hi. unfold box_square. cbn [fst snd]. rewrite <- coord_real, E. unfold apply_square. rewrite !coord_tabulate by auto.
  eapply Rle_trans; [|apply linear_radius_sound with (v := fun k => coord x k - phi (entry (fst b) k)); auto].
  right. f_equal. cbn [map_square scale outers]. rewrite !sum_over_map. cbn [fst snd].
  rewrite (sum_over_ext _ (fun a => phi one * _ * _) (fun lr => coord (map phi (fst lr)) i * dot d (map phi (snd lr)) x
    + -1 * (coord (map phi (fst lr)) i * dot d (map phi (snd lr)) (real (fst b))))).
  - rewrite sum_over_plus, sum_over_scale, coord_real. ring.
  - intros lr _. rewrite phi_one. change (map phi (fst lr)) with (real (fst lr)). change (map phi (snd lr)) with (real (snd lr)).
    rewrite (sum_upto_ext d _ (fun k => coord (real (snd lr)) k * (coord x k - coord (real (fst b)) k))) by (intros; now rewrite (coord_real F (fst b))).
    rewrite dot_minus_l. ring.
Qed.

Lemma times_sound s t q p : within s q -> within t p -> within (s * t) (times F q p).
Proof. intros H1 H2. unfold within, times in *. cbn [fst snd]. rewrite !phi_add, !phi_mul, !phi_abs. apply product_error; auto. Qed.
Lemma box_score_sound (B : block F) x z bx bz : fits_square d (score_matrix B) -> inside x bx -> inside z bz ->
  within (score d (real_block B) x z) (box_score F (score_matrix B) bx (box_rights F (score_matrix B) bx) (bz, box_lefts F (score_matrix B) bz)).
Proof.
  intros HM Hx Hz. unfold score. cbn [map_block score_matrix]. rewrite dot_apply_square. set (M := score_matrix B) in *.
  assert (E : within (sum_over (fun lr => dot d (snd lr) x * dot d (fst lr) z) (outers (real_square M)))
    (box_products F (box_rights F M bx) (box_lefts F M bz))).
  { unfold box_rights, box_lefts. cbn [map_square outers]. rewrite sum_over_map. cbn [fst snd]. unfold fits_square in HM.
    induction HM as [|lr l [H1 H2] HM IH]; cbn [sum_over map box_products].
    - unfold within. cbn [fst snd]. rewrite phi_zero, Rminus_0_r, Rabs_R0. lra.
    - pose proof (times_sound _ _ _ _ (box_product_sound (snd lr) x bx H2 Hx) (box_product_sound (fst lr) z bz H1 Hz)) as HT.
      set (t := times F _ _) in *. clearbody t. unfold within in *. cbn [fst snd]. rewrite !phi_add.
      match goal with |- Rabs (?a + ?b - (?c + ?e)) <= _ => replace (a + b - (c + e)) with ((a - c) + (b - e)) by ring end.
      eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [exact HT|exact IH]. }
  unfold box_score. cbn [fst snd]. cbn [map_square scale]. set (s := box_products _ _ _) in *. destruct (is_zero (scale M)) eqn:Z.
  - apply phi_is_zero in Z. rewrite Z, Rmult_0_l, Rplus_0_l. exact E.
  - pose proof (box_product2_sound x z bx bz Hx Hz) as H2. unfold within in *. cbn [fst snd].
    rewrite !phi_add, !phi_mul, !phi_add, !phi_abs.
    match goal with |- Rabs (?a * ?b + ?c - (?a * ?e + ?g)) <= _ => replace (a * b + c - (a * e + g)) with (a * (b - e) + (c - g)) by ring end.
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|exact E].
    rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|exact H2].
Qed.
Lemma sum_boxes_sound x y bx by_ : inside x bx -> inside y by_ -> inside (tabulate d (fun i => coord x i + coord y i)) (sum_boxes F bx by_).
Proof.
  intros (L0&L1&L2&Hx) (M0&M1&M2&Hy). split; [apply tabulate_length|].
  split; [now apply zip_length|]. split; [now apply zip_length|]. intros i Hi. unfold sum_boxes. cbn [fst snd].
  rewrite coord_tabulate, !(entry_zip F _ _ _ i d) by auto. eapply Rle_trans; [|apply raise_le]. rewrite !phi_add.
  match goal with |- Rabs (?a + ?b - (?c + ?e)) <= _ => replace (a + b - (c + e)) with ((a - c) + (b - e)) by ring end.
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; auto.
Qed.
Lemma stretch_box_sound a x b : inside x b -> inside (tabulate d (fun i => phi a * coord x i)) (stretch_box F a b).
Proof.
  intros (L0&L1&L2&H). split; [apply tabulate_length|]. unfold stretch_box. cbn [fst snd].
  split; [now rewrite stretch_length|]. split; [now rewrite linear_radius_length|]. intros i Hi.
  rewrite <- coord_real, real_stretch, coord_scale, coord_tabulate, coord_real by auto.
  eapply Rle_trans; [|apply linear_radius_sound with (v := fun k => coord x k - phi (entry (fst b) k)); auto].
  right. f_equal. simpl. ring.
Qed.
Lemma box_output rho x y b b' : inside x b -> inside y b' ->
  inside (tabulate d (fun i => phi rho * coord x i + coord y i)) (sum_boxes F (stretch_box F rho b) b').
Proof.
  intros Hx Hy. replace (tabulate d (fun i => phi rho * coord x i + coord y i))
    with (tabulate d (fun i => coord (tabulate d (fun i => phi rho * coord x i)) i + coord y i)).
  - apply sum_boxes_sound; auto. now apply stretch_box_sound.
  - apply tabulate_ext. intros i Hi. now rewrite coord_tabulate.
Qed.

Lemma box_mean_sound X C : X <> [] -> Forall2 inside X C ->
  inside (tabulate d (fun i => sum_over (fun z => coord z i) X / INR (length X))) (box_mean F C).
Proof.
  intros HX H. pose proof (Forall2_len _ _ _ _ _ H) as HL.
  assert (H1 : Forall (fun z => length z = d) (map fst C) /\ Forall (fun z => length z = d) (map snd C)).
  { clear -H. induction H as [|x b X C (L0&L1&L2&_) H [IH1 IH2]]; simpl; split; constructor; auto. }
  destruct H1 as [H1 H2]. assert (NC : C <> []) by (destruct C, X; simpl in *; congruence).
  destruct (exact_mean_sound (map fst C)) as [L3 E3]; auto. { destruct C; simpl; congruence. }
  destruct (exact_mean_sound (map snd C)) as [L4 E4]; auto. { destruct C; simpl; congruence. }
  split; [apply tabulate_length|]. split; [exact L3|]. split; [exact L4|]. intros i Hi. unfold box_mean. cbn [fst snd].
  rewrite coord_tabulate by auto. rewrite <- !coord_real, E3, E4, !map_length by auto. unfold box in HL. rewrite <- HL.
  assert (P : 0 < / INR (length X)) by (apply Rinv_0_lt_compat, lt_0_INR; destruct X; [congruence|simpl; lia]).
  unfold Rdiv. rewrite <- Rmult_minus_distr_r, Rabs_mult, (Rabs_pos_eq (/ _)) by lra. apply Rmult_le_compat_r; [lra|].
  clear -H Hi. induction H as [|x b X C (_&_&_&H) HF IH]; simpl; [rewrite Rminus_0_r, Rabs_R0; lra|].
  specialize (H i Hi). rewrite !coord_real.
  match goal with |- Rabs (?a + ?b - (?c + ?e)) <= _ => replace (a + b - (c + e)) with ((a - c) + (b - e)) by ring end.
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Section Temperature.
Variables (limit : F) (cap : N) (tau : R).
Hypothesis Htau : 0 < tau <= phi limit.

Lemma spread_sound (B : block R) (x s : token) bs i : (i < d)%nat -> inside s bs ->
  let e := fun z => exp (score d B x z / tau) in
  forall O os, Forall2 (fun z o => inside z (fst o) /\ e z <= e s * phi (snd o)) O os ->
  sum_over (fun z => e z * Rabs (coord z i - coord s i)) O <= e s * phi (spread F bs os i) /\ 0 <= phi (spread F bs os i).
Proof.
  intros Hi Hs e O os H. assert (He : forall z, 0 < e z) by (intros; apply exp_pos). unfold spread.
  induction H as [|z o O os [Hz Ht] H [IH1 IH2]]; cbn [sum_over Numbers.sum].
  - rewrite phi_zero. lra.
  - rewrite phi_add, phi_mul, !phi_add, phi_abs, phi_sub.
    assert (D : Rabs (coord z i - coord s i) <= Rabs (phi (entry (fst (fst o)) i) - phi (entry (fst bs) i)) + (phi (entry (snd (fst o)) i) + phi (entry (snd bs) i))).
    { destruct Hz as (_&_&_&Hz), Hs as (_&_&_&Hs). specialize (Hz i Hi). specialize (Hs i Hi).
      replace (coord z i - coord s i) with ((phi (entry (fst (fst o)) i) - phi (entry (fst bs) i)) + ((coord z i - phi (entry (fst (fst o)) i)) + - (coord s i - phi (entry (fst bs) i)))) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_l.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
    set (DD := _ + (_ + _)) in D |- *.
    assert (T1 : e z * Rabs (coord z i - coord s i) <= (e s * phi (snd o)) * DD).
    { apply Rmult_le_compat; auto; [left; apply He|apply Rabs_pos]. }
    assert (P : 0 <= phi (snd o)).
    { pose proof (He z). pose proof (He s). destruct (Rle_dec 0 (phi (snd o))); auto. exfalso.
      assert (phi (snd o) * e s < 0 * e s) by (apply Rmult_lt_compat_r; lra). lra. }
    assert (0 <= phi (snd o) * DD) by (apply Rmult_le_pos; auto; eapply Rle_trans; [apply Rabs_pos|exact D]).
    split; [rewrite Rmult_plus_distr_l; rewrite Rmult_assoc in T1; apply Rplus_le_compat; [exact T1|exact IH1]|apply Rplus_le_le_0_compat; auto].
Qed.
Lemma box_attended_sound (B : block F) X C x bx a : fits_square d (score_matrix B) -> Forall2 inside X C -> inside x bx ->
  box_attended F limit cap (score_matrix B) (map (fun z => (z, box_lefts F (score_matrix B) z)) C) bx = Some a ->
  inside (soft_mean d tau (real_block B) X x) a.
Proof.
  intros HM HX Hx H. unfold box_attended in H. rewrite map_map in H. cbn [fst snd] in H.
  set (S := map _ C) in H. set (k := match S with [] => O | _ => _ end) in H.
  assert (HS : Forall2 (fun z o => inside z (fst o) /\ within (score d (real_block B) x z) (snd o)) X S).
  { subst S k. clear H. induction HX as [|z bz X C Hz HX IH]; cbn [map]; constructor; [|exact IH]. cbn [fst snd]. split; [exact Hz|].
    now apply box_score_sound. }
  clearbody k. rewrite <- (firstn_skipn k S) in HS. destruct (skipn k S) as [|[bs ss] post]; [discriminate|].
  destruct (map_option (weight_bound F limit cap ss) _) as [os|] eqn:EO; [|discriminate]. injection H as <-.
  apply Forall2_app_inv_r in HS as (X1&X'&H1&H2&->). inversion H2 as [|s ? X2 ? [Hs Hss] H3]; subst.
  cbn [fst snd] in *. clear H2. pose proof Hs as (_&LL1&LL2&_).
  split; [apply tabulate_length|]. split; [exact LL1|]. split; [cbn [snd]; now rewrite map_length, seq_length|].
  intros i Hi. cbn [fst snd]. rewrite LL1, entry_seq by auto.
  pose proof (Forall2_app H1 H3) as HO. apply map_option_Forall2 in EO.
  set (e := fun z => exp (score d (real_block B) x z / tau)).
  assert (HO' : Forall2 (fun z o => inside z (fst o) /\ e z <= e s * phi (snd o)) (X1 ++ X2) os).
  { eapply Forall2_trans; [exact HO|exact EO|]. intros z o o' [Hz Hzs] Ht. unfold weight_bound in Ht.
    destruct (leb _ _) eqn:L; [|discriminate]. injection Ht as <-. cbn [fst snd]. split; auto.
    apply phi_leb in L. rewrite phi_mul, phi_of_N, !phi_sub, phi_add in L. rewrite phi_half_power.
    apply gap_bound with (limit := phi limit); try lra.
    unfold within in *. apply Rabs_bounds in Hzs. apply Rabs_bounds in Hss. lra. }
  destruct (spread_sound (real_block B) x s bs i Hi Hs (X1 ++ X2) os HO') as [P1 P2].
  rewrite phi_add. unfold soft_mean. rewrite coord_tabulate by auto.
  pose proof (mean_near_best e s X1 X2 i _ (fun z => exp_pos _) P1 P2) as PB.
  destruct Hs as (_&_&_&Hs). specialize (Hs i Hi). fold (e s) in *.
  change (fun z => exp (score d (real_block B) x z / tau) * coord z i) with (fun z => e z * coord z i).
  change (fun z => exp (score d (real_block B) x z / tau)) with e. set (A := _ / _) in *.
  replace (A - phi (entry (fst bs) i)) with ((A - coord s i) + (coord s i - phi (entry (fst bs) i))) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rplus_comm. apply Rplus_le_compat; [exact Hs|exact PB].
Qed.
Lemma attended_soft B X x : attended d tau B X x = soft_mean d tau B X x.
Proof. unfold attended. destruct (Req_EM_T tau 0); [lra|auto]. Qed.
Lemma box_attention_sound (B : block F) X C D : fits_block d B -> Forall2 inside X C -> box_attention F limit cap (compile F B) C = Some D ->
  Forall2 inside (self_attention d tau (real_block B) X) D.
Proof.
  intros (_&HA&HV) H E. unfold box_attention in E. cbn [compile c_value c_score c_rho] in E. unfold self_attention.
  destruct (is_zero_square F (value_matrix B)) eqn:ZV; [|destruct (is_zero_square F (score_matrix B)) eqn:ZA].
  - injection E as <-. eapply Forall2_map_map; [exact H|]. intros x b _ Hx.
    rewrite (tabulate_ext d _ (fun i => phi (Semantics.rho B) * coord x i)); [now apply stretch_box_sound|].
    intros i Hi. cbn [map_block value_matrix Semantics.rho]. rewrite (zero_square_sound _ _ i ZV Hi). lra.
  - injection E as <-. eapply Forall2_map_map; [exact H|]. intros x b Hin Hx. cbn [map_block Semantics.rho]. apply box_output; auto.
    cbn [map_block value_matrix]. apply box_square_sound; auto. rewrite attended_soft, soft_mean_uniform by (intros; now apply zero_score).
    apply box_mean_sound; auto. destruct X; [contradiction|congruence].
  - apply map_option_Forall2 in E.
    assert (G : forall X' C', Forall2 inside X' C' -> forall D', Forall2 (fun b b' =>
        match box_attended F limit cap (score_matrix B) (map (fun z => (z, box_lefts F (score_matrix B) z)) C) b with
        | None => None | Some a => Some (sum_boxes F (stretch_box F (Semantics.rho B) b) (box_square F (value_matrix B) a)) end = Some b') C' D' ->
      Forall2 inside (map (fun x => tabulate d (fun i => Semantics.rho (real_block B) * coord x i
        + coord (apply_square d (value_matrix (real_block B)) (attended d tau (real_block B) X x)) i)) X') D').
    { induction 1 as [|x b X' C' Hx HF IH]; intros D' HD; inversion HD as [|? b' ? D'' Hb HD']; subst; simpl; constructor; auto.
      destruct (box_attended _ _ _ _ _ _) as [a|] eqn:EP; [|discriminate]. injection Hb as <-.
      apply box_output; auto. apply box_square_sound; auto. rewrite attended_soft.
      eapply box_attended_sound; eauto. }
    eapply G; eauto.
Qed.
Lemma box_run_sound (T : transformer F) : Forall (fits_block d) T -> forall X C D, Forall2 inside X C ->
  box_run F limit cap (map (compile F) T) C = Some D -> Forall2 inside (run d tau (map real_block T) X) D.
Proof.
  unfold run. induction 1 as [|B T HB HT IH]; simpl; intros X C D H E; [now injection E as <-|].
  destruct (box_block _ _ _ _ _) as [C'|] eqn:E1; [|discriminate]. eapply IH; [|exact E]. clear IH E.
  unfold box_block in E1. destruct (map_option (box_feed_forward F (compile F B)) C) as [Z|] eqn:E2; [|discriminate].
  unfold run_block. eapply box_attention_sound; eauto. apply map_option_Forall2 in E2. clear E1. revert Z E2.
  induction H; intros Z E2; inversion E2; subst; simpl; constructor; eauto. eapply box_feed_forward_sound; eauto.
Qed.
Lemma point_inside (x : vector) : length x = d -> inside (real x) (point F x).
Proof. intros H. unfold inside, point. cbn [fst snd]. rewrite real_length, map_length. repeat split; auto. intros i Hi.
  rewrite coord_real, Rminus_diag_eq, Rabs_R0, (entry_map F _ x i d), phi_zero by auto. lra. Qed.
Lemma zero_radius x b : inside x b -> is_zero_vector (snd b) = true -> x = real (fst b).
Proof. intros (L0&L1&L2&H) Z. apply (token_ext d); [exact L0|now rewrite real_length|]. intros i Hi. specialize (H i Hi).
  rewrite (zero_vector_entry F (snd b)) in H by exact Z. rewrite coord_real. apply Rabs_bounds in H. lra. Qed.
Lemma box_check_sound (T : transformer Q) data : Forall (fits_block d) T -> fits_data d data ->
  box_check F limit cap T data = true -> interpolates d tau (map (map_block Q2R) T) (map_data Q2R data).
Proof.
  intros HT [_ HD] H X Y HI. apply in_map_data in HI as (X0&Y0&HI&->&->).
  unfold box_check in H. rewrite forallb_forall in H.
  assert (HI' : In (map (map (of_Q (n := F))) X0, map (map of_Q) Y0) (map_data of_Q data)).
  { apply in_map_iff. exists (X0, Y0). auto. }
  specialize (H _ HI'). cbn [fst snd] in H.
  rewrite <- !map_real_of_Q.
  replace (map (map_block Q2R) T) with (map real_block (map (map_block of_Q) T))
    by (rewrite map_map; apply map_ext; apply real_block_of_Q).
  destruct (box_run _ _ _ _ _) as [Z|] eqn:E; [|discriminate].
  apply andb_true_iff in H as [H1 H2].
  unfold compile_all in E. rewrite <- (map_map (map_block of_Q) (compile F)) in E.
  apply box_run_sound with (X := map real (map (map (of_Q (n := F))) X0)) in E.
  - replace (run d tau (map real_block (map (map_block of_Q) T)) (map real (map (map of_Q) X0))) with (map real (map fst Z)).
    + now apply same_tokens_sound.
    + clear -E H1. induction E as [|x b RX Z Hx HF IH]; simpl in *; auto. apply andb_true_iff in H1 as [H1 H2].
      rewrite IH by auto. f_equal. symmetry. now apply zero_radius.
  - apply Forall_map. apply Forall_impl with (2 := HT). intros; now apply fits_map.
  - rewrite Forall_forall in HD. destruct (HD _ HI) as (_&_&HX&_). cbn [fst] in HX. clear -HX.
    induction HX; simpl; constructor; auto. apply point_inside. now rewrite map_length.
Qed.
End Temperature.
End Exact.

(* ---- shapes and budgets ---- *)
Lemma has_length_sound d l : has_length d l = true -> length l = d.
Proof. apply Nat.eqb_eq. Qed.
Lemma check_square_sound d M : check_square d M = true -> fits_square d M.
Proof. apply forallb_Forall. intros lr H. apply andb_true_iff in H as [? ?]. split; now apply has_length_sound. Qed.
Lemma check_block_sound d w B : check_block d w B = true -> fits_block d B /\ (width B <= w)%N.
Proof.
  unfold check_block. rewrite !andb_true_iff. intros (((H1&H2)&H3)&H4). split; [|now apply N.leb_le].
  split; [|split; now apply check_square_sound]. revert H1. apply forallb_Forall. intros n H.
  apply andb_true_iff in H as [? ?]. split; now apply has_length_sound.
Qed.
Lemma check_pair_sound d p : check_pair d p = true -> fits_pair d p.
Proof.
  unfold check_pair. rewrite !andb_true_iff. intros (((H1&H2)&H3)&H4). split; [|split; [|split]].
  - intros E. rewrite E in H1. discriminate.
  - intros E. rewrite E in H2. discriminate.
  - revert H3. apply forallb_Forall, has_length_sound.
  - revert H4. apply forallb_Forall, has_length_sound.
Qed.
Lemma check_sizes_sound d w L P T data (temps : R -> Prop) : check_sizes d w L P T data = true ->
  (Forall (fits_block d) T -> fits_data d data -> forall tau, temps tau -> interpolates d tau (map (map_block Q2R) T) (map_data Q2R data)) ->
  certified (Claim d w L P temps) data T.
Proof.
  unfold check_sizes. rewrite !andb_true_iff. intros (((((H1&H2)&H3)&H4)&H5)&H6) H.
  assert (HT : Forall (fun B => fits_block d B /\ (width B <= w)%N) T) by (revert H4; apply forallb_Forall, check_block_sound).
  assert (HD : fits_data d data).
  { split; [intros E; rewrite E in H2; discriminate|]. revert H3. apply forallb_Forall, check_pair_sound. }
  assert (HF : Forall (fits_block d) T) by (apply Forall_impl with (2 := HT); tauto).
  unfold certified. cbn [dimension max_width max_blocks max_parameters temperatures].
  split; [now apply Nat.leb_le|]. split; [exact HD|]. split; [exact HF|].
  split; [apply Forall_impl with (2 := HT); tauto|]. split; [now apply N.leb_le|]. split; [now apply N.leb_le|]. auto.
Qed.

(* ---- the three theorems that certificates use ---- *)

Theorem hardmax_sound (F : numbers) d w L P T data : check_hardmax d w L P F T data = true ->
  certified (Claim d w L P (fun tau => tau = 0)) data T.
Proof.
  intros H. apply andb_true_iff in H as [H1 H2]. apply check_sizes_sound; auto.
  intros HT HD tau ->. now apply exact_check_sound with (F := F).
Qed.

Theorem softmax_sound (F : numbers) d w L P limit cap T data : check_softmax d w L P F limit cap T data = true ->
  certified (Claim d w L P (fun tau => 0 < tau <= Q2R limit)) data T.
Proof.
  intros H. apply andb_true_iff in H as [H1 H2]. apply check_sizes_sound; auto.
  intros HT HD tau Ht. eapply box_check_sound; eauto. now rewrite phi_of_Q.
Qed.

Theorem uniform_sound (F : numbers) d w L P T data : check_uniform d w L P F T data = true ->
  certified (Claim d w L P (fun tau => 0 <= tau)) data T.
Proof.
  intros H. apply andb_true_iff in H as [H H2]. apply andb_true_iff in H as [H1 H3]. apply check_sizes_sound; auto.
  intros HT HD tau _ X Y HI. rewrite (uniform_run F d tau T H3). now apply (exact_check_sound F d T data HT HD H2).
Qed.

(* Certificates combine these. *)
Theorem certified_narrow d w L P (temps temps' : R -> Prop) data T : (forall tau, temps' tau -> temps tau) ->
  certified (Claim d w L P temps) data T -> certified (Claim d w L P temps') data T.
Proof. unfold certified. cbn [dimension max_width max_blocks max_parameters temperatures]. intros H (H1&H2&H3&H4&H5&H6&H7).
  repeat (split; [assumption|]). auto. Qed.
Theorem certified_union d w L P (temps temps' temps'' : R -> Prop) data T : (forall tau, temps'' tau -> temps tau \/ temps' tau) ->
  certified (Claim d w L P temps) data T -> certified (Claim d w L P temps') data T -> certified (Claim d w L P temps'') data T.
Proof. unfold certified. cbn [dimension max_width max_blocks max_parameters temperatures].
  intros H (H1&H2&H3&H4&H5&H6&H7) (_&_&_&_&_&_&K). repeat (split; [assumption|]).
  intros tau Ht. destruct (H tau Ht); auto. Qed.
