(* Existence: for every dataset that satisfies the hypotheses there is a hardmax transformer of at most 2M + 2N + 1
   blocks of width 4 that interpolates it, and one of at most 2M + 3N blocks that interpolates it with softmax at
   every small enough temperature; over the reals, and with rational weights for rational data.

   The phases, with the blocks that they take here:
     shift into the positive orthant       1
     separation by uniform attention       2 (N - 1)    one token moved, one mean added, for each step
     leaders                               M            one hat a leader
     collapse, A = I                       1
     hardmax: interpolation                M            one hat a point; 2M + 2N in all
     softmax: line, flatten and place      1 + M        2M + 2N + 1 in all *)
From Coq Require Import List QArith Qreals Reals Lra Lia Bool NArith.
From Interp Require Import Semantics Numbers Lemmas.
Import ListNotations.
Local Open Scope R_scope.

(* ---- lists ---- *)
Definition disjoint {A} (X Y : list A) := forall z, In z X -> ~ In z Y.
Lemma NoDup_append A (l m : list A) : NoDup l -> NoDup m -> disjoint l m -> NoDup (l ++ m).
Proof. induction 1; simpl; intros Hm D; auto. constructor.
  - rewrite in_app_iff. intros [I|I]; [auto|]. apply (D x); [now left|auto].
  - apply IHNoDup; auto. intros z Hz. apply D. now right. Qed.
Lemma NoDup_flat_map A B (f : A -> list B) l : Forall (fun a => NoDup (f a)) l ->
  ForallOrdPairs (fun a b => disjoint (f a) (f b)) l -> NoDup (flat_map f l).
Proof. intros H D. induction D as [|a l Ha D IH]; simpl; [constructor|]. apply Forall_cons_iff in H as [H1 H2].
  apply NoDup_append; auto. intros z Hz Hin. apply in_flat_map in Hin as (b&Hb&Hzb).
  rewrite Forall_forall in Ha. now apply (Ha b Hb z Hz). Qed.
Lemma ordpairs_map A B (P : A -> A -> Prop) (P' : B -> B -> Prop) f l : ForallOrdPairs P l ->
  (forall a b, In a l -> In b l -> P a b -> P' (f a) (f b)) -> ForallOrdPairs P' (map f l).
Proof. induction 1 as [|a l Ha H IH]; intros G; simpl; constructor.
  - apply Forall_map. rewrite Forall_forall in *. intros b Hb. apply G; [now left|now right|auto].
  - apply IH. intros; apply G; auto; now right. Qed.
Lemma ordpairs_labels A B (P : A * B -> A * B -> Prop) (dec : forall a b : A, {a = b} + {a <> b}) l : ForallOrdPairs P l ->
  NoDup (map fst l) \/ exists p q, In p l /\ In q l /\ fst p = fst q /\ P p q.
Proof. induction 1 as [|a l Ha H [IH|(p&q&Hp&Hq&E&HP)]]; [left; constructor| |right; exists p, q; simpl; auto].
  destruct (in_dec dec (fst a) (map fst l)) as [I|I]; [right|left; now constructor].
  apply in_map_iff in I as (q&E&Hq). rewrite Forall_forall in Ha. exists a, q. simpl. repeat split; auto. Qed.
Lemma in_combine_left A B (l : list A) (m : list B) a : length l = length m -> In a l -> exists b, In (a, b) (combine l m).
Proof. revert m; induction l as [|a' l IH]; destruct m as [|b m]; simpl; intros E H; try tauto; try discriminate.
  destruct H as [<-|H]; eauto. destruct (IH m) as (b'&Hb'); auto. eauto. Qed.
Lemma in_combine_right A B (l : list A) (m : list B) b : length l = length m -> In b m -> exists a, In (a, b) (combine l m).
Proof. revert m; induction l as [|a l IH]; destruct m as [|b' m]; simpl; intros E H; try tauto; try discriminate.
  destruct H as [<-|H]; eauto. destruct (IH m) as (a'&Ha'); auto. eauto. Qed.
Lemma map_fst_combine A B (l : list A) (m : list B) : length l = length m -> map fst (combine l m) = l.
Proof. revert m; induction l; destruct m; simpl; intros; try discriminate; auto. now rewrite IHl by lia. Qed.
Lemma NoDup_firstn A n (l : list A) : NoDup l -> NoDup (firstn n l).
Proof. intros H. rewrite <- (firstn_skipn n l) in H. revert H. generalize (firstn n l), (skipn n l).
  induction l0; simpl; intros m H; [constructor|]. inversion H; subst. constructor; eauto. rewrite in_app_iff in *. tauto. Qed.
Lemma in_firstn A n (l : list A) a : In a (firstn n l) -> In a l.
Proof. intros H. rewrite <- (firstn_skipn n l). apply in_or_app. now left. Qed.
Lemma NoDup_map_injective A B (f : A -> B) l : (forall x y, In x l -> In y l -> f x = f y -> x = y) -> NoDup l -> NoDup (map f l).
Proof. intros I H. induction H as [|x l N H IH]; simpl; constructor.
  - rewrite in_map_iff. intros (y&E&Hy). apply N. rewrite (I x y); auto; [now left|now right].
  - apply IH. intros; apply I; auto; now right. Qed.
Lemma map_flat_map A B C (f : A -> list B) (g : B -> C) l : map g (flat_map f l) = flat_map (fun a => map g (f a)) l.
Proof. induction l; simpl; auto. now rewrite map_app, IHl. Qed.
Lemma NoDup_ordpairs A B (f : A -> B) l : NoDup (map f l) -> ForallOrdPairs (fun a b => f a <> f b) l.
Proof. induction l as [|a l IH]; simpl; intros H; [constructor|]. inversion H as [|? ? H1 H2]; subst. constructor; auto.
  apply Forall_forall. intros b Hb E. apply H1. rewrite E. now apply in_map. Qed.

Section Existence.
Variable k : R -> Prop.
Hypothesis K : subfield k.
Variable d : nat.
Hypothesis Hd : (2 <= d)%nat.

Definition square_in (M : square R) := k (scale M) /\ Forall (fun lr => Forall k (fst lr) /\ Forall k (snd lr)) (outers M).
Definition block_in (B : block R) := k (eta B)
  /\ Forall (fun n => Forall k (out_weights n) /\ Forall k (in_weights n) /\ k (bias n)) (neurons B)
  /\ k (Semantics.rho B) /\ square_in (score_matrix B) /\ square_in (value_matrix B).
Definition good (B : block R) := fits_block d B /\ (width B <= 4)%N
  /\ (block_parameters d B <= 10 * N.of_nat d + 8)%N /\ block_in B.
Definition is_token (x : token) := length x = d /\ Forall k x.
Definition positive (x : token) := forall i, (i < d)%nat -> 0 < coord x i.
Definition below (b : R) (x : token) := forall i, (i < d)%nat -> Rabs (coord x i) < b.

Lemma run_append tau T1 T2 X : run d tau (T1 ++ T2) X = run d tau T2 (run d tau T1 X).
Proof. unfold run. apply fold_left_app. Qed.
Lemma is_token_tabulate f : (forall i, (i < d)%nat -> k (f i)) -> is_token (tabulate d f).
Proof. intros H. split; [apply tabulate_length|now apply sub_tabulate]. Qed.
Lemma apply_scalar a x i : (i < d)%nat -> coord (apply_square d (Square a []) x) i = a * coord x i.
Proof. intros Hi. unfold apply_square. rewrite coord_tabulate by auto. simpl. lra. Qed.
Lemma attended_hard B X x : attended d 0 B X x = hard_mean d B X x.
Proof. unfold attended. destruct (Req_EM_T 0 0); [auto|congruence]. Qed.
Lemma attended_soft tau B X x : 0 < tau -> attended d tau B X x = soft_mean d tau B X x.
Proof. intros H. unfold attended. destruct (Req_EM_T tau 0); [lra|auto]. Qed.

(* ---- a block whose attention does nothing ---- *)
Definition plain_block e ns := Block e ns 1 (Square 0 []) (Square 0 []).
Lemma run_plain tau e ns X : run_block d tau (plain_block e ns) X = map (feed_forward d (plain_block e ns)) X.
Proof.
  unfold run_block, self_attention. rewrite map_map. apply map_ext. intros x.
  set (y := attended _ _ _ _ _). apply (token_ext d); try apply tabulate_length. intros i Hi.
  rewrite coord_tabulate by auto. cbn [plain_block value_matrix Semantics.rho]. rewrite apply_scalar by auto. lra.
Qed.
Lemma good_plain e ns : k e -> (length ns <= 4)%nat -> Forall (fun n => is_token (out_weights n) /\ is_token (in_weights n) /\ k (bias n)) ns ->
  good (plain_block e ns).
Proof.
  intros He Hl Hn. unfold good, plain_block, fits_block, block_in, square_in, fits_square, block_parameters, width, count;
    cbn [neurons score_matrix value_matrix outers scale eta Semantics.rho].
  assert (H01 : k 0 /\ k 1) by (split; [apply (sub_0 k K)|apply (sub_1 k K)]). destruct H01.
  repeat split; auto.
  - apply Forall_impl with (2 := Hn). intros n ((?&?)&(?&?)&?). split; auto.
  - lia.
  - assert (N.of_nat (length ns) * (2 * N.of_nat d + 1) <= 4 * (2 * N.of_nat d + 1))%N by (apply N.mul_le_mono_r; lia).
    cbn [square_parameters outers]. lia.
  - apply Forall_impl with (2 := Hn). intros n ((?&?)&(?&?)&?). auto.
Qed.

(* ---- one hat moves one token ---- *)
Lemma move_one (L : list token) x y : Forall is_token L -> is_token x -> is_token y ->
  exists ns, good (plain_block 1 ns) /\ feed_forward d (plain_block 1 ns) x = y /\
    forall z, In z L -> z <> x -> feed_forward d (plain_block 1 ns) z = z.
Proof.
  intros HL Hx Hy. pose proof HL as HL'. rewrite Forall_forall in HL'.
  destruct (injective_direction k K d (x :: L)) as (u&Lu&Ku&_&Iu); [constructor; auto|].
  set (m := dot d u x).
  assert (Km : k m) by (apply (sub_dot k K); auto; apply Hx).
  destruct (free_interval k K (map (dot d u) L) m) as (a&c&Ka&Kc&Hac&F); auto.
  { apply Forall_map, Forall_forall. intros z Hz. apply (sub_dot k K); auto. now apply HL'. }
  set (delta := difference d y x). set (p := / (m - a)). set (q := / (c - m)).
  assert (Kdelta : is_token delta).
  { apply is_token_tabulate. intros. apply (sub_minus k K); apply (sub_coord k K); [apply Hy|apply Hx]. }
  assert (Kp : k p) by (apply (sub_inv k K); [lra|now apply (sub_minus k K)]).
  assert (Kq : k q) by (apply (sub_inv k K); [lra|now apply (sub_minus k K)]).
  set (ns := [Neuron (map (Rmult p) delta) u (- a); Neuron (map (Rmult (- (p + q))) delta) u (- m); Neuron (map (Rmult q) delta) u (- c)]).
  assert (Sc : forall s, k s -> is_token (map (Rmult s) delta)).
  { intros s Ks. destruct Kdelta as [L1 L2]. split; [now rewrite map_length|]. apply Forall_map.
    apply Forall_impl with (2 := L2). intros; now apply (sub_mult k K). }
  assert (E : forall z i, (i < d)%nat -> coord (feed_forward d (plain_block 1 ns) z) i = coord z i + coord delta i * hat a m c (dot d u z)).
  { intros z i Hi. unfold feed_forward. rewrite coord_tabulate by auto.
    cbn [plain_block ns eta neurons sum_over out_weights in_weights bias]. rewrite !coord_scale. unfold hat, p, q, Rminus. ring. }
  exists ns. split; [|split].
  - assert (Ku' : is_token u) by (split; auto).
    apply good_plain; [apply (sub_1 k K)|simpl; lia|]. constructor; [|constructor; [|constructor; [|constructor]]]; cbn [out_weights in_weights bias].
    + split; [now apply Sc|]. split; [exact Ku'|now apply (sub_opp k K)].
    + split; [apply Sc, (sub_opp k K); now apply (sub_plus k K)|]. split; [exact Ku'|now apply (sub_opp k K)].
    + split; [now apply Sc|]. split; [exact Ku'|now apply (sub_opp k K)].
  - apply (token_ext d); [apply tabulate_length|apply Hy|]. intros i Hi. rewrite E by auto. fold m. rewrite hat_middle by auto.
    unfold delta, difference. rewrite coord_tabulate by auto. ring.
  - intros z Hz N. apply (token_ext d); [apply tabulate_length|now apply HL'|]. intros i Hi. rewrite E by auto.
    rewrite hat_outside; [ring|auto|]. apply F; [now apply in_map|]. unfold m. apply Iu; simpl; auto.
Qed.

(* ---- one block for each token that is to be moved ---- *)
Definition token_eq_dec : forall x y : token, {x = y} + {x <> y} := list_eq_dec Req_EM_T.
Fixpoint relocate (ms : list (token * token)) (x : token) : token := match ms with
  | [] => x
  | (s, t) :: ms => if token_eq_dec x s then t else relocate ms x end.
Lemma relocate_fixed ms x : ~ In x (map fst ms) -> relocate ms x = x.
Proof. induction ms as [|[s t] ms IH]; simpl; intros N; auto. destruct (token_eq_dec x s) as [->|]; [tauto|]. apply IH; tauto. Qed.
Lemma relocate_moved ms s t : NoDup (map fst ms) -> In (s, t) ms -> relocate ms s = t.
Proof. induction ms as [|[s' t'] ms IH]; simpl; intros N H; [tauto|]. inversion N as [|? ? N1 N2]; subst.
  destruct (token_eq_dec s s') as [->|NE].
  - destruct H as [H|H]; [congruence|]. exfalso. apply N1. apply (in_map fst) in H. exact H.
  - destruct H as [H|H]; [congruence|auto]. Qed.
Lemma relocate_blocks ms : (forall m m', In m ms -> In m' ms -> snd m <> fst m') ->
  Forall (fun m => is_token (fst m) /\ is_token (snd m)) ms -> forall L, Forall is_token L ->
  exists T, Forall good T /\ length T = length ms /\ forall tau X, incl X L -> run d tau T X = map (relocate ms) X.
Proof.
  induction ms as [|[s t] ms IH]; intros HN HF L HL.
  - exists []. split; [constructor|]. split; auto. intros tau X _. unfold run; simpl. now rewrite map_id.
  - apply Forall_cons_iff in HF as [[Hs Ht] HF]. cbn [fst snd] in Hs, Ht.
    destruct (move_one L s t HL Hs Ht) as (ns&G&E1&E2).
    destruct (IH (fun m m' H H' => HN m m' (or_intror H) (or_intror H')) HF (t :: L)) as (T&GT&LT&RT); [constructor; auto|].
    exists (plain_block 1 ns :: T). split; [constructor; auto|]. split; [simpl; congruence|]. intros tau X HX.
    change (run d tau T (run_block d tau (plain_block 1 ns) X) = map (relocate ((s, t) :: ms)) X). rewrite run_plain, RT.
    + rewrite map_map. apply map_ext_in. intros z Hz. simpl. destruct (token_eq_dec z s) as [->|N].
      * rewrite E1. apply relocate_fixed. intros Hin. apply in_map_iff in Hin as (m&E&Hm).
        apply (HN (s, t) m); simpl; auto.
      * rewrite E2; auto.
    + intros w Hw. apply in_map_iff in Hw as (z&<-&Hz). destruct (token_eq_dec z s) as [->|N]; [left; auto|right; rewrite E2; auto].
Qed.

(* ---- datasets as they pass through blocks ---- *)
Notation pair_ := (list token * list token)%type.
Definition advance (T : transformer R) (data : list pair_) : list pair_ := map (fun p => (run d 0 T (fst p), snd p)) data.
Definition sound_pair (p : pair_) := NoDup (fst p) /\ Forall is_token (fst p) /\ NoDup (snd p) /\ Forall is_token (snd p)
  /\ snd p <> [] /\ (length (snd p) <= length (fst p))%nat.
Definition different (p q : pair_) := ~ same_set (fst p) (fst q).
Definition apart (p q : pair_) := disjoint (fst p) (fst q).
Definition done tau (T : transformer R) (data : list pair_) := forall p, In p data -> same_set (run d tau T (fst p)) (snd p).
(* the temperature plays no part *)
Definition steady (T : transformer R) (data : list pair_) := forall tau p, In p data -> run d tau T (fst p) = run d 0 T (fst p).
Definition tokens_of (data : list pair_) : list token := flat_map fst data.
Definition all_positive (data : list pair_) := forall x, In x (tokens_of data) -> positive x.

Lemma in_advance T data p : In p data -> In (run d 0 T (fst p), snd p) (advance T data).
Proof. apply (in_map (fun p => (run d 0 T (fst p), snd p))). Qed.
Lemma done_append tau T1 T2 data : steady T1 data -> done tau T2 (advance T1 data) -> done tau (T1 ++ T2) data.
Proof. intros HT H p Hp. rewrite run_append, HT by auto. exact (H _ (in_advance T1 data p Hp)). Qed.
Lemma steady_append T1 T2 data : steady T1 data -> steady T2 (advance T1 data) -> steady (T1 ++ T2) data.
Proof. intros H1 H2 tau p Hp. rewrite !run_append, H1 by auto. exact (H2 tau _ (in_advance T1 data p Hp)). Qed.
Lemma advance_append T1 T2 data : advance (T1 ++ T2) data = advance T2 (advance T1 data).
Proof. unfold advance. rewrite map_map. apply map_ext. intros p. cbn [fst snd]. now rewrite run_append. Qed.
Lemma in_tokens_of data p x : In p data -> In x (fst p) -> In x (tokens_of data).
Proof. intros Hp Hx. apply in_flat_map. eauto. Qed.
Lemma tokens_are_tokens data : Forall sound_pair data -> Forall is_token (tokens_of data).
Proof. intros H. apply Forall_forall. intros x Hx. apply in_flat_map in Hx as (p&Hp&Hx). rewrite Forall_forall in H.
  destruct (H p Hp) as (_&HT&_). rewrite Forall_forall in HT. auto. Qed.
Lemma num_targets_advance T data : num_targets (advance T data) = num_targets data.
Proof. induction data; simpl; auto. Qed.
(* an injective map on tokens keeps pairs sound *)
Lemma sound_map data (h : pair_ -> token -> token) : Forall sound_pair data ->
  (forall p x, In p data -> In x (fst p) -> is_token (h p x)) ->
  (forall p x y, In p data -> In x (fst p) -> In y (fst p) -> h p x = h p y -> x = y) ->
  Forall sound_pair (map (fun p => (map (h p) (fst p), snd p)) data).
Proof.
  intros H HT HI. rewrite Forall_forall in H. apply Forall_map, Forall_forall. intros p Hp.
  destruct (H p Hp) as (H1&H2&H3&H4&H5&H6). unfold sound_pair. cbn [fst snd]. repeat split; auto.
  - apply NoDup_map_injective; auto. intros x y Hx Hy. now apply HI.
  - apply Forall_map, Forall_forall. intros x Hx. now apply HT.
  - now rewrite map_length.
Qed.
Lemma coordinates_bounded (L : list token) : Forall is_token L -> exists b, k b /\ 1 <= b /\ forall x, In x L -> below b x.
Proof.
  intros HL. destruct (upper_bound k K (flat_map (fun x => x ++ map Ropp x) L)) as (b&Kb&B1&HB).
  - apply Forall_flat_map. apply Forall_impl with (2 := HL). intros x [_ Hx]. apply Forall_app. split; auto.
    apply Forall_map. apply Forall_impl with (2 := Hx). apply (sub_opp k K).
  - exists b. repeat (split; auto). intros x Hx i Hi. rewrite Forall_forall in HL. destruct (HL x Hx) as [Lx _].
    assert (I : In (coord x i) x) by (apply nth_In; lia). apply Rabs_def1.
    + apply HB. apply in_flat_map. exists x. split; auto. apply in_or_app; auto.
    + assert (- coord x i < b); [|lra]. apply HB. apply in_flat_map. exists x. split; auto. apply in_or_app. right.
      now apply in_map. 
Qed.

(* ---- phase 0: one shift makes everything positive ---- *)
Lemma shift_phase data : Forall sound_pair data -> ForallOrdPairs different data -> exists B, good B /\ steady [B] data /\
  let data' := advance [B] data in Forall sound_pair data' /\ ForallOrdPairs different data' /\ all_positive data'.
Proof.
  intros HS HD. destruct (coordinates_bounded (tokens_of data) (tokens_are_tokens data HS)) as (b&Kb&B1&HB).
  set (ns := [Neuron (tabulate d (fun _ => b)) (tabulate d (fun _ => 0)) 1]).
  set (f := fun x => tabulate d (fun i => coord x i + b)).
  assert (E : forall tau X, run d tau [plain_block 1 ns] X = map f X).
  { intros tau X. unfold run. cbn [fold_left]. rewrite run_plain. apply map_ext. intros x. apply tabulate_ext. intros i Hi.
    cbn [plain_block ns eta neurons sum_over out_weights in_weights bias]. rewrite coord_tabulate by auto.
    replace (dot d (tabulate d (fun _ => 0)) x) with 0.
    - unfold relu. rewrite Rmax_left by lra. ring.
    - rewrite dot_sym, dot_tabulate. rewrite (sum_upto_ext d _ (fun _ => 0)); [now rewrite sum_upto_0|intros; ring]. }
  assert (I : forall x y, length x = d -> length y = d -> f x = f y -> x = y).
  { intros x y Lx Ly Ef. apply (token_ext d); auto. intros i Hi. assert (C : coord (f x) i = coord (f y) i) by congruence.
    unfold f in C. rewrite !coord_tabulate in C by auto. lra. }
  assert (HL : forall p x, In p data -> In x (fst p) -> is_token x).
  { intros p x Hp Hx. pose proof (tokens_are_tokens data HS) as HT. rewrite Forall_forall in HT. apply HT. eapply in_tokens_of; eauto. }
  exists (plain_block 1 ns). split.
  { apply good_plain; [apply (sub_1 k K)|simpl; lia|]. constructor; [|constructor]. cbn [out_weights in_weights bias]. split; [|split].
    - apply is_token_tabulate; auto.
    - apply is_token_tabulate. intros; apply (sub_0 k K).
    - apply (sub_1 k K). }
  split; [intros tau p _; now rewrite !E|].
  assert (EA : advance [plain_block 1 ns] data = map (fun p => (map f (fst p), snd p)) data)
    by (apply map_ext; intros p; now rewrite E).
  cbv zeta. rewrite EA. split; [|split].
  - apply (sound_map data (fun _ => f)); auto.
    + intros p x Hp Hx. apply is_token_tabulate. intros. apply (sub_plus k K); auto. apply (sub_coord k K). now apply (HL p x).
    + intros p x y Hp Hx Hy. apply I; [now apply (HL p x)|now apply (HL p y)].
  - apply ordpairs_map with (1 := HD). intros p q Hp Hq N S. apply N. intros z. cbn [fst] in S.
    assert (G : forall p q z, In p data -> In q data -> same_set (map f (fst p)) (map f (fst q)) -> In z (fst p) -> In z (fst q)).
    { clear -HL I. intros p q z Hp Hq S Hz. destruct (S (f z)) as [S1 _]. specialize (S1 (in_map f _ _ Hz)).
      apply in_map_iff in S1 as (y&Ey&Hy). rewrite <- (I y z); auto; [now apply (HL q y)|now apply (HL p z)]. }
    split; [apply (G p q); auto|apply (G q p); auto]. intros w; now rewrite (S w).
  - intros x Hx. apply in_flat_map in Hx as (p'&Hp'&Hx). apply in_map_iff in Hp' as (p&<-&Hp). cbn [fst] in Hx.
    apply in_map_iff in Hx as (x0&<-&Hx0). intros i Hi. unfold f. rewrite coord_tabulate by auto.
    assert (P : Rabs (coord x0 i) < b) by (apply HB; auto; eapply in_tokens_of; eauto). apply Rabs_def2 in P. lra.
Qed.
(* ---- uniform attention, A = 0 and V = eps I, adds eps times the mean ---- *)
Definition mean_block eps := Block 1 [] 1 (Square 0 []) (Square eps []).
Definition mean (X : list token) : token := tabulate d (fun i => sum_over (fun z => coord z i) X / INR (length X)).
Lemma good_mean eps : k eps -> good (mean_block eps).
Proof.
  intros Ke. unfold good, mean_block, fits_block, block_in, square_in, fits_square, block_parameters, width, count;
    cbn [neurons score_matrix value_matrix outers scale eta Semantics.rho].
  assert (H01 : k 0 /\ k 1) by (split; [apply (sub_0 k K)|apply (sub_1 k K)]). destruct H01.
  repeat split; auto.
  - simpl. lia.
  - cbn [square_parameters outers length N.of_nat]. lia.
Qed.
Lemma feed_forward_none r A V x : length x = d -> feed_forward d (Block 1 [] r A V) x = x.
Proof. intros L. apply (token_ext d); [apply tabulate_length|exact L|]. intros i Hi. unfold feed_forward.
  rewrite coord_tabulate by auto. cbn [eta neurons sum_over]. lra. Qed.
Lemma run_mean tau eps X : Forall is_token X ->
  run_block d tau (mean_block eps) X = map (fun x => tabulate d (fun i => coord x i + eps * coord (mean X) i)) X.
Proof.
  intros HX. rewrite Forall_forall in HX. unfold run_block.
  replace (map (feed_forward d (mean_block eps)) X) with X.
  2:{ symmetry. rewrite <- (map_id X) at 2. apply map_ext_in. intros x Hx. apply feed_forward_none. now apply HX. }
  unfold self_attention. apply map_ext_in. intros x Hx.
  assert (S : forall z, score d (mean_block eps) x z = 0).
  { intros z. unfold score, mean_block. cbn [score_matrix]. rewrite dot_apply_square. cbn [scale outers sum_over]. lra. }
  replace (attended d tau (mean_block eps) X x) with (mean X).
  - apply tabulate_ext. intros i Hi. cbn [mean_block value_matrix Semantics.rho]. rewrite apply_scalar by auto. lra.
  - unfold attended. destruct (Req_EM_T tau 0); symmetry; [now apply hard_mean_uniform|now apply soft_mean_uniform].
Qed.
Lemma sum_over_bounds (f : token -> R) X a : (forall z, In z X -> f z <= a) -> sum_over f X <= INR (length X) * a.
Proof. induction X as [|x X IH]; intros H; cbn [sum_over length]; [simpl; lra|]. rewrite S_INR.
  assert (f x <= a) by (apply H; now left). assert (sum_over f X <= INR (length X) * a) by (apply IH; intros; apply H; now right). lra. Qed.
Lemma sum_over_member (f : token -> R) X z : (forall x, In x X -> 0 < f x) -> In z X -> f z <= sum_over f X.
Proof.
  intros H Hz. assert (P : forall l, (forall x, In x l -> 0 < f x) -> 0 <= sum_over f l).
  { induction l as [|x l IHl]; intros Hl; simpl; [lra|]. assert (0 < f x) by (apply Hl; now left).
    assert (0 <= sum_over f l) by (apply IHl; intros; apply Hl; now right). lra. }
  induction X as [|x X IH]; simpl in *; [tauto|]. assert (0 < f x) by auto.
  assert (0 <= sum_over f X) by (apply P; auto). destruct Hz as [->|Hz]; [lra|]. assert (f z <= sum_over f X) by auto. lra. Qed.
Lemma INR_length_pos (X : list token) : X <> [] -> 0 < INR (length X).
Proof. intros H. apply lt_0_INR. destruct X; [congruence|simpl; lia]. Qed.
Lemma mean_positive X : X <> [] -> (forall x, In x X -> positive x) -> positive (mean X).
Proof.
  intros HN HX i Hi. unfold mean. rewrite coord_tabulate by auto. destruct X as [|x X]; [congruence|].
  apply Rmult_lt_0_compat; [|apply Rinv_0_lt_compat; now apply INR_length_pos].
  apply Rlt_le_trans with (coord x i); [apply HX; [now left|auto]|].
  apply (sum_over_member (fun z => coord z i)); [intros; now apply HX|now left].
Qed.
Lemma mean_token X : X <> [] -> Forall is_token X -> is_token (mean X).
Proof.
  intros HN HX. apply is_token_tabulate. intros i _. pose proof (INR_length_pos X HN).
  apply (sub_div k K); [lra| |apply (sub_INR k K)]. clear H HN.
  induction HX as [|x X [_ Hx] HX IH]; simpl; [apply (sub_0 k K)|]. apply (sub_plus k K); auto. now apply (sub_coord k K).
Qed.
(* a factor for which different tokens stay different after the addition *)
Lemma generic_factor (L : list token) : Forall is_token L -> exists eps, k eps /\ 0 < eps /\
  forall x y a b, In x L -> In y L -> In a L -> In b L ->
  tabulate d (fun i => coord x i + eps * coord a i) = tabulate d (fun i => coord y i + eps * coord b i) -> x = y.
Proof.
  intros HL. rewrite Forall_forall in HL.
  set (bad := flat_map (fun xy => flat_map (fun ab => map (fun i =>
    if Req_EM_T (coord (snd ab) i - coord (fst ab) i) 0 then 0
    else (coord (fst xy) i - coord (snd xy) i) / (coord (snd ab) i - coord (fst ab) i)) (seq 0 d)) (list_prod L L)) (list_prod L L)).
  destruct (free_positive k K bad) as (eps&Ke&Pe&Ne&_).
  - apply Forall_flat_map, Forall_forall. intros [x y] Hxy. apply in_prod_iff in Hxy as [Hx Hy].
    apply Forall_flat_map, Forall_forall. intros [a b] Hab. apply in_prod_iff in Hab as [Ha Hb].
    apply Forall_map, Forall_forall. intros i _. cbn [fst snd]. destruct (Req_EM_T _ 0); [apply (sub_0 k K)|].
    destruct (HL x Hx), (HL y Hy), (HL a Ha), (HL b Hb).
    apply (sub_div k K); auto; apply (sub_minus k K); now apply (sub_coord k K).
  - exists eps. repeat (split; auto). intros x y a b Hx Hy Ha Hb E. destruct (HL x Hx) as [Lx _], (HL y Hy) as [Ly _].
    apply (token_ext d); auto. intros i Hi.
    assert (C : coord x i + eps * coord a i = coord y i + eps * coord b i).
    { pose proof (f_equal (fun t => coord t i) E) as C. cbv beta in C. now rewrite !coord_tabulate in C by auto. }
    destruct (Req_dec (coord b i - coord a i) 0) as [Z|Z].
    + replace (coord b i) with (coord a i) in C by lra. lra.
    + exfalso. apply Ne. apply in_flat_map. exists (x, y). split; [now apply in_prod|].
      apply in_flat_map. exists (a, b). split; [now apply in_prod|]. apply in_map_iff. exists i. split; [|apply in_seq; lia].
      cbn [fst snd]. destruct (Req_EM_T _ 0); [contradiction|].
      apply Rmult_eq_reg_r with (coord b i - coord a i); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by auto. lra.
Qed.

(* ---- separation ---- *)
(* One step: two blocks. Sequences with the token t part from those without it; nothing that was apart meets again. *)
Lemma separation_step data t : Forall sound_pair data -> ForallOrdPairs different data -> all_positive data -> In t (tokens_of data) ->
  exists T, Forall good T /\ length T = 2%nat /\ steady T data /\
    let f := fun p => (run d 0 T (fst p), snd p) in
    Forall sound_pair (map f data) /\ ForallOrdPairs different (map f data) /\ all_positive (map f data) /\
    forall p q, In p data -> In q data -> apart p q \/ (In t (fst p) /\ ~ In t (fst q)) -> apart (f p) (f q).
Proof.
  intros HS HD HP Ht. pose proof (tokens_are_tokens data HS) as HL. pose proof HL as HL'. rewrite Forall_forall in HL'.
  pose proof HS as HS'. rewrite Forall_forall in HS'.
  destruct (coordinates_bounded (tokens_of data) HL) as (b&Kb&B1&HB).
  (* t' is so far out that it lifts the mean of its sequence above b *)
  set (far := b * (INR (length (tokens_of data)) + 1)).
  assert (Kfar : k far) by (apply (sub_mult k K); auto; apply (sub_plus k K); [apply (sub_INR k K)|apply (sub_1 k K)]).
  assert (Bfar : b <= far).
  { unfold far. pose proof (pos_INR (length (tokens_of data))). pose proof (Rmult_le_pos b (INR (length (tokens_of data)))). lra. }
  set (t' := tabulate d (fun _ => far)). assert (Ht' : is_token t') by (apply is_token_tabulate; auto).
  assert (Nt' : ~ In t' (tokens_of data)).
  { intros Hin. pose proof (HB t' Hin 0%nat ltac:(lia)) as C. unfold t' in C. rewrite coord_tabulate in C by lia.
    apply Rabs_def2 in C. lra. }
  destruct (relocate_blocks [(t, t')]) with (L := tokens_of data) as (T1&G1&L1&R1); auto.
  { intros m m' [<-|[]] [<-|[]] E. cbn [fst snd] in E. rewrite E in Nt'. contradiction. }
  set (g := relocate [(t, t')]) in *. set (L' := t' :: tokens_of data).
  assert (Pos' : forall z, In z L' -> positive z).
  { intros z [<-|Hz]; [|now apply HP]. intros i Hi. unfold t'. rewrite coord_tabulate by auto. lra. }
  assert (Gin : forall z, In z (tokens_of data) -> In (g z) L').
  { intros z Hz. unfold g. simpl. destruct (token_eq_dec z t); [left|right]; auto. }
  assert (Ginj : forall x y, In x (tokens_of data) -> In y (tokens_of data) -> g x = g y -> x = y).
  { intros x y Hx Hy. unfold g. simpl. destruct (token_eq_dec x t) as [->|], (token_eq_dec y t) as [->|]; intros E; auto; subst; contradiction. }
  assert (HL2 : Forall is_token L') by (constructor; auto). pose proof HL2 as HL2'. rewrite Forall_forall in HL2'.
  assert (Inc : forall p x, In p data -> In x (fst p) -> In x (tokens_of data)) by (intros p x; apply in_tokens_of).
  set (M := fun p : pair_ => mean (map g (fst p))).
  assert (Np : forall p, In p data -> map g (fst p) <> []).
  { intros p Hp. destruct (HS' p Hp) as (_&_&_&_&N&Le). destruct (fst p), (snd p); simpl in *; try congruence; lia. }
  assert (TM : forall p, In p data -> is_token (M p)).
  { intros p Hp. apply mean_token; auto. apply Forall_map, Forall_forall. intros x Hx. apply HL2', Gin. eauto. }
  assert (PM : forall p, In p data -> positive (M p)).
  { intros p Hp. apply mean_positive; auto. intros z Hz. apply in_map_iff in Hz as (x&<-&Hx). apply Pos', Gin. eauto. }
  assert (HM : forall p, In p data -> (In t (fst p) -> b < coord (M p) 0) /\ (~ In t (fst p) -> coord (M p) 0 <= b)).
  { intros p Hp. pose proof (INR_length_pos _ (Np p Hp)) as Pn. unfold M, mean. rewrite coord_tabulate by lia. split.
    - intros Htp. apply Rlt_le_trans with (far / INR (length (map g (fst p)))).
      + apply Rmult_lt_reg_r with (INR (length (map g (fst p)))); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
        rewrite Rmult_1_r. unfold far. apply Rmult_lt_compat_l; [lra|].
        assert (length (map g (fst p)) <= length (tokens_of data))%nat; [|apply le_INR in H; lra].
        rewrite map_length. apply NoDup_incl_length; [now apply HS'|]. intros x Hx. eauto.
      + apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
        replace far with (coord t' 0) by (unfold t'; now rewrite coord_tabulate by lia).
        apply (sum_over_member (fun z => coord z 0)).
        * intros z Hz. apply in_map_iff in Hz as (x&<-&Hx). apply Pos'; [apply Gin; eauto|lia].
        * apply in_map_iff. exists t. split; auto. unfold g. simpl. destruct (token_eq_dec t t); congruence.
    - intros Htp. apply Rmult_le_reg_r with (INR (length (map g (fst p)))); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
      rewrite Rmult_1_r, Rmult_comm. apply sum_over_bounds. intros z Hz. apply in_map_iff in Hz as (x&<-&Hx).
      unfold g. simpl. destruct (token_eq_dec x t) as [->|]; [contradiction|].
      pose proof (HB x (Inc p x Hp Hx) 0%nat ltac:(lia)) as C. apply Rabs_def2 in C. lra. }
  destruct (generic_factor (L' ++ map M data)) as (eps&Ke&Pe&Ge).
  { apply Forall_app. split; auto. apply Forall_map, Forall_forall. auto. }
  exists (T1 ++ [mean_block eps]). split; [apply Forall_app; split; auto; constructor; [now apply good_mean|constructor]|].
  split; [rewrite app_length, L1; reflexivity|]. set (T := T1 ++ [mean_block eps]).
  set (h := fun (p : pair_) x => tabulate d (fun i => coord (g x) i + eps * coord (M p) i)).
  assert (RT : forall tau p, In p data -> run d tau T (fst p) = map (h p) (fst p)).
  { intros tau p Hp. unfold T. rewrite run_append, R1 by (intros x Hx; eauto). unfold run. cbn [fold_left].
    rewrite run_mean, map_map; [reflexivity|]. apply Forall_map, Forall_forall. intros x Hx. apply HL2', Gin. eauto. }
  split; [intros tau p Hp; now rewrite !RT|].
  (* equal images come from equal tokens in sequences with equal means *)
  assert (E : forall p q x y, In p data -> In q data -> In x (fst p) -> In y (fst q) -> h p x = h q y -> x = y /\ M p = M q).
  { intros p q x y Hp Hq Hx Hy E. pose proof (Inc p x Hp Hx) as Tx. pose proof (Inc q y Hq Hy) as Ty.
    assert (Exy : g x = g y).
    { apply (Ge (g x) (g y) (M p) (M q)); auto; apply in_or_app; [left|left|right|right]; auto; now apply in_map. }
    split; [now apply Ginj|]. destruct (TM p Hp), (TM q Hq). apply (token_ext d); auto. intros i Hi.
    pose proof (f_equal (fun t => coord t i) E) as C. unfold h in C. rewrite !coord_tabulate, Exy in C by auto.
    apply Rmult_eq_reg_l with eps; lra. }
  cbv zeta. set (f := fun p : pair_ => (run d 0 T (fst p), snd p)).
  assert (Ef : map f data = map (fun p => (map (h p) (fst p), snd p)) data).
  { apply map_ext_in. intros p Hp. unfold f. now rewrite RT. }
  split; [|split; [|split]].
  - rewrite Ef. apply sound_map; auto.
    + intros p x Hp Hx. apply is_token_tabulate. intros. apply (sub_plus k K); [|apply (sub_mult k K); auto]; apply (sub_coord k K);
        [apply HL2', Gin; eauto|now apply TM].
    + intros p x y Hp Hx Hy Exy. now apply (E p p x y).
  - apply ordpairs_map with (1 := HD). intros p q Hp Hq N S. apply N. unfold f in S. cbn [fst] in S. rewrite !RT in S by auto.
    assert (Sub : forall p q, In p data -> In q data -> same_set (map (h p) (fst p)) (map (h q) (fst q)) -> incl (fst p) (fst q)).
    { clear -E. intros p q Hp Hq S x Hx. destruct (S (h p x)) as [S1 _].
      pose proof (S1 (in_map (h p) _ _ Hx)) as S2. apply in_map_iff in S2 as (y&Ey&Hy).
      destruct (E p q x y Hp Hq Hx Hy (eq_sym Ey)) as [-> _]. exact Hy. }
    intros z. split; [apply (Sub p q); auto|apply (Sub q p); auto]. intros w. symmetry. apply S.
  - intros x Hx. rewrite Ef in Hx. apply in_flat_map in Hx as (p'&Hp'&Hx). apply in_map_iff in Hp' as (p&<-&Hp). cbn [fst] in Hx.
    apply in_map_iff in Hx as (x0&<-&Hx0). intros i Hi. unfold h. rewrite coord_tabulate by auto.
    assert (0 < coord (g x0) i) by (apply Pos'; auto; apply Gin; eauto).
    assert (0 < eps * coord (M p) i) by (apply Rmult_lt_0_compat; auto; now apply PM). lra.
  - intros p q Hp Hq C z Hz Hz'. unfold f in Hz, Hz'. cbn [fst] in Hz, Hz'. rewrite RT in Hz, Hz' by auto.
    apply in_map_iff in Hz as (x&Ex&Hx). apply in_map_iff in Hz' as (y&Ey&Hy).
    destruct (E p q x y Hp Hq Hx Hy ltac:(congruence)) as [-> EM].
    destruct C as [C|[C1 C2]]; [now apply (C y)|]. destruct (HM p Hp) as [M1 _], (HM q Hq) as [_ M2].
    specialize (M1 C1). specialize (M2 C2). rewrite EM in M1. lra.
Qed.

(* Labels: sequences with different labels are apart. Each step makes a label more. *)
Notation labelled := (nat * pair_)%type.
Definition num_labels (D : list labelled) : nat := length (nodup Nat.eq_dec (map fst D)).
Lemma separation_phase n : forall D : list labelled, (length D <= n + num_labels D)%nat ->
  Forall sound_pair (map snd D) -> ForallOrdPairs different (map snd D) -> all_positive (map snd D) ->
  (forall p q, In p D -> In q D -> fst p <> fst q -> apart (snd p) (snd q)) ->
  exists T, Forall good T /\ (length T <= 2 * n)%nat /\ steady T (map snd D) /\ let data' := advance T (map snd D) in
    Forall sound_pair data' /\ ForallOrdPairs apart data' /\ all_positive data'.
Proof.
  induction n as [|n IH]; intros D HM HS HD HP HA;
  (assert (HO : ForallOrdPairs (fun p q : labelled => different (snd p) (snd q)) D);
   [clear -HD; induction D as [|p D IHD]; simpl in *; [constructor|]; inversion HD; subst; constructor; auto;
    rewrite Forall_map in *; auto|];
   destruct (ordpairs_labels _ _ _ Nat.eq_dec D HO) as [HN|(p&q&Hp&Hq&El&Npq)];
   [exists []; split; [constructor|]; split; [simpl; lia|]; split; [intros ? ? _; reflexivity|]; cbv zeta;
    replace (advance [] (map snd D)) with (map snd D)
      by (unfold advance, run; simpl; rewrite <- (map_id (map snd D)) at 1; apply map_ext; now intros []);
    split; [auto|]; split; [|auto]|]).
  1, 3 : clear -HN HA; induction D as [|p D IHD]; simpl in *; [constructor|]; inversion HN; subst; constructor; auto;
    apply Forall_map, Forall_forall; intros q Hq; apply HA; auto; intros E; apply H1; rewrite E; now apply in_map.
  all : assert (exists p q t, In p D /\ In q D /\ fst p = fst q /\ In t (fst (snd p)) /\ ~ In t (fst (snd q))) as (p'&q'&t&Hp'&Hq'&El'&Ht&Nt).
  1, 3 : destruct (Forall_Exists_dec (fun z => In z (fst (snd q))) (fun z => in_dec token_eq_dec z _) (fst (snd p))) as [I|I];
    [destruct (Forall_Exists_dec (fun z => In z (fst (snd p))) (fun z => in_dec token_eq_dec z _) (fst (snd q))) as [J|J];
     [exfalso; apply Npq; rewrite Forall_forall in I, J; intros z; split; auto
     |apply Exists_exists in J as (t&J1&J2); exists q, p, t; auto]
    |apply Exists_exists in I as (t&I1&I2); exists p, q, t; auto].
  all : set (fresh := S (list_max (map fst D)));
    set (relabel := fun p : labelled => if in_dec token_eq_dec t (fst (snd p)) then fresh else fst p).
  all : assert (Fr : forall r, In r D -> fst r <> fresh)
    by (intros r Hr E; pose proof (list_max_le (map fst D) (list_max (map fst D))) as [LM _]; specialize (LM (Nat.le_refl _));
        rewrite Forall_forall in LM; specialize (LM (fst r) (in_map fst _ _ Hr)); unfold fresh in E; lia).
  all : assert (More : forall f : pair_ -> pair_, (S (num_labels D) <= num_labels (map (fun p => (relabel p, f (snd p))) D))%nat).
  1, 3 : intros f; unfold num_labels; rewrite map_map; cbn [fst];
    change (S (length (nodup Nat.eq_dec (map fst D)))) with (length (fresh :: nodup Nat.eq_dec (map fst D)));
    apply NoDup_incl_length;
    [constructor; [rewrite nodup_In; intros Hin; apply in_map_iff in Hin as (r&E&Hr); now apply (Fr r)|apply NoDup_nodup]|];
    intros l [<-|Hl]; apply nodup_In;
    [apply in_map_iff; exists p'; split; auto; unfold relabel; destruct (in_dec _ _ _); tauto|];
    apply nodup_In in Hl; apply in_map_iff in Hl as (r&<-&Hr);
    destruct (Nat.eq_dec (fst r) (fst q')) as [Er|Er];
    [apply in_map_iff; exists q'; split; auto; unfold relabel; destruct (in_dec _ _ _); [tauto|auto]
    |apply in_map_iff; exists r; split; auto; unfold relabel; destruct (in_dec token_eq_dec t (fst (snd r))) as [I|I]; auto;
     exfalso; apply (HA p' r Hp' Hr ltac:(congruence) t Ht I)].
  - pose proof (More (fun p => p)) as M. assert (L : (num_labels (map (fun p => (relabel p, snd p)) D) <= length D)%nat); [|lia].
    unfold num_labels. rewrite <- (map_length (fun p => (relabel p, snd p)) D), <- (map_length fst (map _ D)).
    apply NoDup_incl_length; [apply NoDup_nodup|]. intros l Hl. now apply nodup_In in Hl.
  - destruct (separation_step (map snd D) t HS HD HP) as (T1&G1&L1&SD1&S1&D1&P1&A1).
    { apply in_flat_map. exists (snd p'). split; auto. now apply in_map. }
    set (f := fun p : pair_ => (run d 0 T1 (fst p), snd p)) in *. set (D' := map (fun p => (relabel p, f (snd p))) D).
    assert (ED : map snd D' = map f (map snd D)) by (unfold D'; now rewrite !map_map).
    destruct (IH D') as (T2&G2&L2&SD2&R2); rewrite ?ED; auto.
    + unfold D' at 1. rewrite map_length. specialize (More f). fold D' in More. lia.
    + intros r s Hr Hs N. apply in_map_iff in Hr as (r0&<-&Hr0). apply in_map_iff in Hs as (s0&<-&Hs0). cbn [fst snd] in *.
      assert (Sym : forall p q, apart p q -> apart q p) by (intros a b H z Hz Hz'; now apply (H z)).
      unfold relabel in N. destruct (in_dec token_eq_dec t (fst (snd r0))) as [I|I], (in_dec token_eq_dec t (fst (snd s0))) as [J|J].
      * congruence.
      * apply A1; auto; now apply in_map.
      * apply Sym, A1; auto; now apply in_map.
      * apply A1; [now apply in_map|now apply in_map|]. left. now apply HA.
    + exists (T1 ++ T2). split; [apply Forall_app; auto|]. split; [rewrite app_length; lia|].
      change (advance T1 (map snd D)) with (map f (map snd D)) in *. rewrite ED in SD2.
      split; [now apply steady_append|]. cbv zeta in *. rewrite advance_append.
      change (advance T1 (map snd D)) with (map f (map snd D)). rewrite <- ED. exact R2.
Qed.

(* ---- leaders: where they go ---- *)
Section Positions.
Variable b : R.
Hypothesis Kb : k b.
Hypothesis B1 : 1 <= b.

(* above the box, and on a sphere in the open negative orthant, beyond the box too *)
Definition above (n : nat) : token := tabulate d (fun _ => b + 1 + INR n).
Definition circle (n : nat) : R * R := let t := / (INR n + 2) in ((1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)).
Definition beyond (n : nat) : token := tabulate d (fun i =>
  - (2 * b) * match i with O => fst (circle n) | S O => snd (circle n) | _ => 1 end).

Lemma circle_parameter n : 0 < / (INR n + 2) <= / 2.
Proof. pose proof (pos_INR n). split; [apply Rinv_0_lt_compat; lra|apply Rinv_le_contravar; lra]. Qed.
Lemma circle_facts n : 3 / 5 <= fst (circle n) /\ 0 < snd (circle n) /\ fst (circle n) * fst (circle n) + snd (circle n) * snd (circle n) = 1.
Proof.
  pose proof (circle_parameter n) as H. unfold circle. set (t := / (INR n + 2)) in *. clearbody t. cbn [fst snd].
  assert (T : 0 < t * t <= / 4) by (split; [apply Rmult_lt_0_compat; lra|replace (/ 4) with (/ 2 * / 2) by lra; apply Rmult_le_compat; lra]).
  split; [|split].
  - apply Rmult_le_reg_r with (1 + t * t); [lra|]. unfold Rdiv. rewrite Rmult_assoc, (Rmult_assoc (1 - t * t)), Rinv_l by lra. lra.
  - apply Rmult_lt_0_compat; [lra|apply Rinv_0_lt_compat; lra].
  - field. lra.
Qed.
Lemma circle_injective n m : circle n = circle m -> n = m.
Proof.
  pose proof (circle_parameter n) as Hn. pose proof (circle_parameter m) as Hm. unfold circle.
  assert (In : / (/ (INR n + 2)) = INR n + 2) by (apply Rinv_inv). assert (Im : / (/ (INR m + 2)) = INR m + 2) by (apply Rinv_inv).
  set (t := / (INR n + 2)) in *. set (s := / (INR m + 2)) in *. clearbody t s. intros E. injection E as E1 E2.
  assert (T : 0 < t * t) by (apply Rmult_lt_0_compat; lra). assert (S : 0 < s * s) by (apply Rmult_lt_0_compat; lra).
  assert (Q : t * t = s * s).
  { assert (G : forall r, 0 < r -> (1 - r) / (1 + r) = 2 / (1 + r) - 1) by (intros; field; lra).
    rewrite !G in E1 by auto. assert (G2 : 2 / (1 + t * t) = 2 / (1 + s * s)) by lra.
    unfold Rdiv in G2. apply Rmult_eq_reg_l in G2; [|lra]. apply (f_equal Rinv) in G2. rewrite !Rinv_inv in G2. lra. }
  rewrite Q in E2. unfold Rdiv in E2. apply Rmult_eq_reg_r in E2; [|apply Rinv_neq_0_compat; lra].
  assert (t = s) by lra. subst s. apply INR_eq. lra.
Qed.
Lemma above_token n : is_token (above n).
Proof. apply is_token_tabulate. intros. repeat apply (sub_plus k K); auto; [apply (sub_1 k K)|apply (sub_INR k K)]. Qed.
Lemma beyond_token n : is_token (beyond n).
Proof.
  apply is_token_tabulate. intros i _. apply (sub_mult k K).
  - apply (sub_opp k K), (sub_mult k K); auto. apply (sub_2 k K).
  - pose proof (circle_parameter n) as H. unfold circle. set (t := / (INR n + 2)) in *.
    assert (Kt : k t).
    { apply (sub_inv k K); [pose proof (pos_INR n); lra|]. apply (sub_plus k K); [apply (sub_INR k K)|apply (sub_2 k K)]. }
    assert (T : 0 < t * t) by (apply Rmult_lt_0_compat; lra).
    assert (K1 : k 1) by apply (sub_1 k K). assert (K2 : k 2) by apply (sub_2 k K).
    assert (Ktt : k (t * t)) by (now apply (sub_mult k K)).
    destruct i as [|[|i]]; cbn [fst snd]; auto; apply (sub_div k K); try lra; auto; try (now apply (sub_plus k K));
      [now apply (sub_minus k K)|now apply (sub_mult k K)].
Qed.
Lemma coord_above n i : (i < d)%nat -> b + 1 <= coord (above n) i.
Proof. intros Hi. unfold above. rewrite coord_tabulate by auto. pose proof (pos_INR n). lra. Qed.
Lemma coord_beyond n i : (i < d)%nat -> coord (beyond n) i < 0.
Proof. intros Hi. unfold beyond. rewrite coord_tabulate by auto. destruct (circle_facts n) as (H1&H2&_).
  apply Ropp_lt_cancel. rewrite Ropp_0. replace (- (- (2 * b) * _)) with (2 * b * match i with O => fst (circle n) | S O => snd (circle n) | _ => 1 end) by ring.
  apply Rmult_lt_0_compat; [lra|]. destruct i as [|[|i]]; lra. Qed.
Lemma beyond_far n : coord (beyond n) 0 < - b.
Proof. unfold beyond. rewrite coord_tabulate by lia. destruct (circle_facts n) as (H1&_). 
  assert (2 * b * (3 / 5) <= 2 * b * fst (circle n)) by (apply Rmult_le_compat_l; lra). lra. Qed.
Lemma above_injective n m : above n = above m -> n = m.
Proof. intros E. pose proof (f_equal (fun x => coord x 0) E) as C. cbv beta in C. unfold above in C.
  rewrite !coord_tabulate in C by lia. apply INR_eq. lra. Qed.
Lemma beyond_injective n m : beyond n = beyond m -> n = m.
Proof.
  intros E. apply circle_injective. pose proof (f_equal (fun x => coord x 0) E) as C0. pose proof (f_equal (fun x => coord x 1) E) as C1.
  cbv beta in C0, C1. unfold beyond in C0, C1. rewrite !coord_tabulate in C0, C1 by lia.
  apply Rmult_eq_reg_l in C0; [|lra]. apply Rmult_eq_reg_l in C1; [|lra].
  destruct (circle n), (circle m). cbn [fst snd] in *. congruence.
Qed.
Lemma above_not_beyond n m : above n <> beyond m.
Proof. intros E. pose proof (coord_above n 0 ltac:(lia)). pose proof (coord_beyond m 0 ltac:(lia)). rewrite E in *. lra. Qed.
Lemma beyond_norm n m : dot d (beyond n) (beyond n) = dot d (beyond m) (beyond m).
Proof.
  assert (E : forall n, dot d (beyond n) (beyond n) = (2 * b) * (2 * b) * INR (d - 1)).
  { intros p. unfold dot, beyond. rewrite (sum_upto_ext d _ (fun i => (2 * b) * (2 * b) * match i with
      O => fst (circle p) * fst (circle p) | S O => snd (circle p) * snd (circle p) | _ => 1 end)).
    - rewrite sum_upto_scale. f_equal. destruct (circle_facts p) as (_&_&C). destruct d as [|[|n']]; [lia|lia|].
      assert (EI : INR (S (S n') - 1) = INR n' + 1) by (rewrite <- S_INR; f_equal; lia).
      rewrite EI, sum_upto_S, sum_upto_S.
      cbn beta iota. assert (S1 : forall n, sum_upto n (fun _ => 1) = INR n).
      { induction n0; [reflexivity|]. rewrite S_INR. simpl. lra. }
      rewrite S1. lra.
    - intros i Hi. rewrite coord_tabulate by auto. destruct i as [|[|i]]; ring. }
  now rewrite !E.
Qed.
(* the positions of the m leaders of a sequence, numbered from o *)
Definition positions (o m : nat) : list token := match m with O => [] | S m => above o :: map beyond (seq (S o) m) end.
Lemma positions_length o m : length (positions o m) = m.
Proof. destruct m; simpl; auto. now rewrite map_length, seq_length. Qed.
Lemma in_positions o m x : In x (positions o m) -> exists n, (o <= n < o + m)%nat /\ (x = above n \/ x = beyond n).
Proof. destruct m; simpl; [tauto|]. intros [<-|H]; [exists o; split; [lia|auto]|].
  apply in_map_iff in H as (n&<-&Hn). apply in_seq in Hn. exists n. split; [lia|auto]. Qed.
Lemma positions_distinct o m : NoDup (positions o m).
Proof. destruct m; simpl; constructor.
  - intros H. apply in_map_iff in H as (n&E&_). now apply (above_not_beyond o n).
  - apply NoDup_map_injective; [intros; now apply beyond_injective|apply seq_NoDup]. Qed.
Lemma positions_apart o m o' m' : (o + m <= o')%nat -> disjoint (positions o m) (positions o' m').
Proof. intros H x Hx Hx'. apply in_positions in Hx as (n&Hn&[->| ->]); apply in_positions in Hx' as (n'&Hn'&[E|E]).
  - apply above_injective in E. lia.
  - now apply above_not_beyond in E.
  - symmetry in E. now apply above_not_beyond in E.
  - apply beyond_injective in E. lia. Qed.

(* ---- collapse: A = I, rho = 0, V = I ---- *)
Definition collapse_block := Block 1 [] 0 (Square 1 []) (Square 1 []).
Lemma good_collapse : good collapse_block.
Proof.
  unfold good, collapse_block, fits_block, block_in, square_in, fits_square, block_parameters, width, count;
    cbn [neurons score_matrix value_matrix outers scale eta Semantics.rho].
  assert (H01 : k 0 /\ k 1) by (split; [apply (sub_0 k K)|apply (sub_1 k K)]). destruct H01.
  repeat split; auto.
  - simpl. lia.
  - cbn [square_parameters outers length N.of_nat]. lia.
Qed.
(* what the leaders phase achieves for one sequence: its positions are taken, all else is in the positive box *)
Definition ready (Z Ps : list token) := Forall is_token Z /\ (forall q, In q Ps -> In q Z) /\
  (forall z, In z Z -> In z Ps \/ (positive z /\ below b z)).
Lemma ready_choice Z o m : ready Z (positions o (S m)) -> forall x, In x Z -> exists s, In s (positions o (S m)) /\ In s Z /\
  (forall z, In z Z -> z = s \/ dot d x z < dot d x s) /\ (In x (positions o (S m)) -> s = x).
Proof.
  intros (HT&HI&HZ). rewrite Forall_forall in HT.
  assert (Pz : forall z, In z Z -> z = above o \/ (exists n, z = beyond n) \/ (positive z /\ below b z)).
  { intros z Hz. destruct (HZ z Hz) as [[<-|H]|H]; auto. apply in_map_iff in H as (n&<-&_). eauto. }
  assert (Ia : In (above o) Z) by (apply HI; now left).
  assert (Pa : positive (above o)) by (intros i Hi; pose proof (coord_above o i Hi); lra).
  assert (Up : forall x, positive x -> forall z, In z Z -> z = above o \/ dot d x z < dot d x (above o)).
  { intros x Px z Hz. destruct (Pz z Hz) as [->|[(n&->)|[_ Bz]]]; [now left|right|right]; apply dominance; auto; try lia; intros i Hi;
      pose proof (coord_above o i Hi).
    - pose proof (coord_beyond n i Hi). lra.
    - pose proof (Bz i Hi) as C. apply Rabs_def2 in C. lra. }
  assert (Down : forall n z, In z Z -> z = beyond n \/ dot d (beyond n) z < dot d (beyond n) (beyond n)).
  { intros n z Hz. assert (Neg : forall z, positive z -> dot d (beyond n) z < dot d (beyond n) (beyond n)).
    { intros y Py. apply Rlt_trans with 0.
      - rewrite <- (sum_upto_0 d). apply sum_upto_lt; [lia|]. intros i Hi. pose proof (coord_beyond n i Hi). pose proof (Py i Hi).
        assert (0 < - coord (beyond n) i * coord y i) by (apply Rmult_lt_0_compat; lra). lra.
      - rewrite <- (sum_upto_0 d). apply sum_upto_lt; [lia|]. intros i Hi. pose proof (coord_beyond n i Hi).
        assert (0 < - coord (beyond n) i * - coord (beyond n) i) by (apply Rmult_lt_0_compat; lra). lra. }
    destruct (Pz z Hz) as [->|[(n'&->)|[Py _]]]; [right; now apply Neg| |right; now apply Neg].
    destruct (token_eq_dec (beyond n') (beyond n)) as [|N]; [now left|right].
    apply equal_norms; auto; try apply beyond_token. apply beyond_norm. }
  assert (Na : forall x, positive x -> In x (positions o (S m)) -> x = above o).
  { intros x Px [<-|Hb]; auto. apply in_map_iff in Hb as (n&<-&_). pose proof (coord_beyond n 0 ltac:(lia)). specialize (Px 0%nat ltac:(lia)). lra. }
  assert (Pos : forall x, positive x -> exists s, In s (positions o (S m)) /\ In s Z /\
    (forall z, In z Z -> z = s \/ dot d x z < dot d x s) /\ (In x (positions o (S m)) -> s = x)).
  { intros x Px. exists (above o). split; [now left|]. split; auto. split; [now apply Up|]. intros H. symmetry. now apply Na. }
  intros x Hx. destruct (Pz x Hx) as [->|[(n&->)|[Px _]]]; auto.
  exists (beyond n). destruct (HZ _ Hx) as [Hp|[Px _]]; [|pose proof (coord_beyond n 0 ltac:(lia)); specialize (Px 0%nat ltac:(lia)); lra].
  repeat split; auto.
Qed.
Lemma score_collapse x z : score d collapse_block x z = dot d x z.
Proof. unfold score, collapse_block. cbn [score_matrix]. rewrite dot_apply_square. cbn [scale outers sum_over]. lra. Qed.
Lemma run_collapse tau Z : Forall is_token Z -> run_block d tau collapse_block Z = map (fun x => attended d tau collapse_block Z x) Z.
Proof.
  intros HT. rewrite Forall_forall in HT. unfold run_block.
  replace (map (feed_forward d collapse_block) Z) with Z.
  2:{ symmetry. rewrite <- (map_id Z) at 2. apply map_ext_in. intros x Hx. apply feed_forward_none. now apply HT. }
  unfold self_attention. apply map_ext_in. intros x Hx. apply (token_ext d); [apply tabulate_length| |].
  - unfold attended. destruct (Req_EM_T tau 0); apply tabulate_length.
  - intros i Hi. rewrite coord_tabulate by auto. cbn [collapse_block value_matrix Semantics.rho]. rewrite apply_scalar by auto. lra.
Qed.
Lemma collapse Z o m : ready Z (positions o (S m)) -> same_set (run_block d 0 collapse_block Z) (positions o (S m)).
Proof.
  intros HR. pose proof HR as (HT&HI&_). rewrite run_collapse by auto. rewrite Forall_forall in HT.
  assert (A : forall x s, In s Z -> (forall z, In z Z -> z = s \/ dot d x z < dot d x s) -> attended d 0 collapse_block Z x = s).
  { intros x s Hs Hb. rewrite attended_hard. apply hard_mean_unique; auto; [now apply HT|]. intros z Hz. rewrite !score_collapse. auto. }
  intros w. rewrite in_map_iff. split.
  - intros (x&<-&Hx). destruct (ready_choice Z o m HR x Hx) as (s&Hs&Hz&Hb&_). now rewrite (A x s).
  - intros Hw. exists w. split; auto. destruct (ready_choice Z o m HR w (HI w Hw)) as (s&Hs&Hz&Hb&Hc). rewrite (A w s); auto.
Qed.

(* ---- leaders, collapse, interpolation on sequences that are apart and positive ---- *)
Notation entry_ := (list token * list token * list token)%type.      (* X, positions, Y *)
Fixpoint plan (o : nat) (data : list pair_) : list entry_ := match data with
  | [] => []
  | p :: data => (fst p, positions o (length (snd p)), snd p) :: plan (o + length (snd p)) data end.
Lemma position_token o m x : In x (positions o m) -> is_token x.
Proof. intros Hx. apply in_positions in Hx as (n&_&[->| ->]); [apply above_token|apply beyond_token]. Qed.
Lemma position_not_below o m x : In x (positions o m) -> ~ below b x.
Proof.
  intros Hx C. specialize (C 0%nat ltac:(lia)). apply Rabs_def2 in C. apply in_positions in Hx as (n&_&[->| ->]).
  - pose proof (coord_above n 0 ltac:(lia)). lra.
  - pose proof (beyond_far n). lra.
Qed.
Definition lead (e : entry_) := combine (firstn (length (snd e)) (fst (fst e))) (snd (fst e)).
Definition place (e : entry_) := combine (snd (fst e)) (snd e).
Lemma in_plan data : forall o e, In e (plan o data) -> exists p o', In p data /\ (o <= o')%nat /\ e = (fst p, positions o' (length (snd p)), snd p).
Proof. induction data as [|p data IH]; simpl; intros o e H; [tauto|]. destruct H as [<-|H]; [exists p, o; auto|].
  destruct (IH _ _ H) as (q&o'&Hq&Ho&->). exists q, o'. split; auto. split; [lia|auto]. Qed.
Lemma plan_in data : forall o p, In p data -> exists o', In (fst p, positions o' (length (snd p)), snd p) (plan o data).
Proof. induction data as [|q data IH]; simpl; intros o p H; [tauto|]. destruct H as [->|H]; [eauto|].
  destruct (IH (o + length (snd q))%nat p H) as (o'&Ho). eauto. Qed.
Lemma plan_apart data : ForallOrdPairs apart data -> forall o, ForallOrdPairs (fun e e' => disjoint (fst (fst e)) (fst (fst e'))) (plan o data).
Proof. induction 1 as [|p data Hp H IH]; intros o; simpl; constructor; auto. apply Forall_forall. intros e He.
  apply in_plan in He as (q&o'&Hq&_&->). rewrite Forall_forall in Hp. exact (Hp q Hq). Qed.
Lemma plan_positions data : forall o, ForallOrdPairs (fun e e' => disjoint (snd (fst e)) (snd (fst e'))) (plan o data).
Proof. induction data as [|p data IH]; intros o; simpl; constructor; auto. apply Forall_forall. intros e He.
  apply in_plan in He as (q&o'&Hq&Ho&->). cbn [fst snd]. now apply positions_apart. Qed.
Lemma ordpairs_weaken A (P P' : A -> A -> Prop) l : (forall a b, P a b -> P' a b) -> ForallOrdPairs P l -> ForallOrdPairs P' l.
Proof. intros H. induction 1; constructor; auto. apply Forall_impl with (2 := H0). auto. Qed.

Lemma leaders_phase data : Forall sound_pair data -> ForallOrdPairs apart data -> all_positive data ->
  (forall p x, In p data -> In x (fst p) -> below b x) ->
  exists T, Forall good T /\ length T = num_targets data /\ steady T data /\ forall tau e, In e (plan 0 data) -> ready (run d tau T (fst (fst e))) (snd (fst e)).
Proof.
  intros HS HA HP HB. pose proof HS as HS'. rewrite Forall_forall in HS'. set (P := plan 0 data). set (ms := flat_map lead P).
  assert (E : forall e, In e P -> exists p o, In p data /\ e = (fst p, positions o (length (snd p)), snd p)).
  { intros e He. apply in_plan in He as (p&o&Hp&_&->). eauto. }
  assert (Lf : forall p, In p data -> length (firstn (length (snd p)) (fst p)) = length (snd p)).
  { intros p Hp. destruct (HS' p Hp) as (_&_&_&_&_&Le). rewrite firstn_length. lia. }
  assert (Fms : map fst ms = flat_map (fun e => firstn (length (snd e)) (fst (fst e))) P).
  { unfold ms. rewrite map_flat_map, !flat_map_concat_map; f_equal; apply map_ext_in.
    intros e He. destruct (E e He) as (p&o&Hp&->). unfold lead. cbn [fst snd]. apply map_fst_combine. now rewrite positions_length, Lf. }
  assert (Nms : NoDup (map fst ms)).
  { rewrite Fms. apply NoDup_flat_map.
    - apply Forall_forall. intros e He. destruct (E e He) as (p&o&Hp&->). cbn [fst snd]. apply NoDup_firstn. now apply HS'.
    - apply (ordpairs_weaken _ (fun e e' => disjoint (fst (fst e)) (fst (fst e')))); [|now apply plan_apart].
      intros e e' D x Hx Hx'. apply in_firstn in Hx, Hx'. now apply (D x). }
  assert (Ims : forall m, In m ms -> exists p o, In p data /\ In m (combine (firstn (length (snd p)) (fst p)) (positions o (length (snd p))))).
  { intros m Hm. apply in_flat_map in Hm as (e&He&Hm). destruct (E e He) as (p&o&Hp&->).
    exists p, o. split; [exact Hp|exact Hm]. }
  destruct (relocate_blocks ms) with (L := tokens_of data) as (T1&G1&L1&R1).
  { intros m m' Hm Hm' Em. destruct (Ims m Hm) as (p&o&Hp&Hc), (Ims m' Hm') as (p'&o'&Hp'&Hc'). destruct m as [s t], m' as [s' t'].
    cbn [fst snd] in Em. subst t. apply in_combine_r in Hc. apply in_combine_l in Hc'. apply in_firstn in Hc'.
    apply (position_not_below _ _ _ Hc). now apply (HB p' s' Hp'). }
  { apply Forall_forall. intros [s t] Hm. destruct (Ims _ Hm) as (p&o&Hp&Hc). cbn [fst snd]. split.
    - apply in_combine_l, in_firstn in Hc. destruct (HS' p Hp) as (_&HT&_). rewrite Forall_forall in HT. auto.
    - apply in_combine_r in Hc. exact (position_token _ _ _ Hc). }
  { now apply tokens_are_tokens. }
  exists T1. split; [exact G1|]. split.
  - rewrite L1. unfold ms, P. generalize 0%nat. clear -Lf. induction data as [|p data' IH]; intros o; [reflexivity|].
    cbn [plan flat_map num_targets fold_right]. rewrite app_length, (IH (fun q Hq => Lf q (or_intror Hq))). unfold lead at 1. cbn [fst snd].
    rewrite combine_length, positions_length, (Lf p (or_introl eq_refl)), Nat.min_id. reflexivity.
  - split; [intros tau p Hp; rewrite !R1 by (intros x Hx; eapply in_tokens_of; eauto); reflexivity|]. intros tau e He. destruct (E e He) as (p&o&Hp&Ee). subst e. cbn [fst snd]. destruct (HS' p Hp) as (H1&H2&H3&H4&H5&H6).
    rewrite R1 by (intros x Hx; eapply in_tokens_of; eauto). set (Ps := positions o (length (snd p))) in *. split; [|split].
    + apply Forall_forall. intros z Hz. apply in_map_iff in Hz as (x&<-&Hx). destruct (in_dec token_eq_dec x (map fst ms)) as [I|I].
      * apply in_map_iff in I as ([s q]&Es&Hm). cbn [fst] in Es. subst s. rewrite (relocate_moved ms x q Nms Hm).
        destruct (Ims _ Hm) as (p'&o'&_&Hc). apply in_combine_r in Hc. exact (position_token _ _ _ Hc).
      * rewrite relocate_fixed by auto. rewrite Forall_forall in H2. auto.
    + intros q Hq. destruct (in_combine_right _ _ (firstn (length (snd p)) (fst p)) Ps q) as (s&Hs); auto.
      { unfold Ps. rewrite positions_length. auto. }
      rewrite <- (relocate_moved ms s q Nms).
      * apply in_map. apply in_combine_l, in_firstn in Hs. exact Hs.
      * apply in_flat_map. exists (fst p, Ps, snd p). split; [exact He|exact Hs].
    + intros z Hz. apply in_map_iff in Hz as (x&<-&Hx). destruct (in_dec token_eq_dec x (map fst ms)) as [I|I].
      * left. apply in_map_iff in I as ([s q]&Es&Hm). cbn [fst] in Es. subst s. rewrite (relocate_moved ms x q Nms Hm).
        apply in_flat_map in Hm as (e&He'&Hm). assert (Ee : e = (fst p, Ps, snd p)).
        { destruct (ForallOrdPairs_In (plan_apart data HA 0) e (fst p, Ps, snd p) He' He) as [Eq|[D|D]]; auto; exfalso.
          - apply (D x); auto. apply in_combine_l, in_firstn in Hm. exact Hm.
          - apply (D x); auto. apply in_combine_l, in_firstn in Hm. exact Hm. }
        subst e. unfold lead in Hm. cbn [fst snd] in Hm. apply in_combine_r in Hm. exact Hm.
      * right. rewrite relocate_fixed by auto. split; [apply HP; eapply in_tokens_of; eauto|]. now apply (HB p).
Qed.
Lemma place_length data : forall o, length (flat_map place (plan o data)) = num_targets data.
Proof. induction data as [|p data' IH]; intros o; [reflexivity|]. cbn [plan flat_map num_targets fold_right].
  rewrite app_length, IH. unfold place. cbn [fst snd]. rewrite combine_length, positions_length, Nat.min_id. reflexivity. Qed.
Lemma place_sources data o : map fst (flat_map place (plan o data)) = flat_map (fun e => snd (fst e)) (plan o data).
Proof.
  rewrite map_flat_map, !flat_map_concat_map; f_equal; apply map_ext_in. intros e He.
  apply in_plan in He as (p&o'&Hp&_&->). unfold place. cbn [fst snd]. apply map_fst_combine. now rewrite positions_length.
Qed.
Lemma place_distinct data o : NoDup (map fst (flat_map place (plan o data))).
Proof. rewrite place_sources. apply NoDup_flat_map; [|apply plan_positions].
  apply Forall_forall. intros e He. apply in_plan in He as (p&o'&Hp&_&->). apply positions_distinct. Qed.
Lemma in_place data o q y : In (q, y) (flat_map place (plan o data)) -> exists p o', In p data /\ In (q, y) (combine (positions o' (length (snd p))) (snd p)).
Proof. intros H. apply in_flat_map in H as (e&He&H). apply in_plan in He as (p&o'&Hp&_&->). exists p, o'. split; [exact Hp|exact H]. Qed.

(* ---- hardmax: collapse to the positions, then one hat for each ---- *)
Lemma hard_ending data : Forall sound_pair data -> ForallOrdPairs apart data -> all_positive data ->
  (forall p x, In p data -> In x (fst p) \/ In x (snd p) -> below b x) ->
  exists T, Forall good T /\ length T = (2 * num_targets data + 1)%nat /\ done 0 T data.
Proof.
  intros HS HA HP HB. pose proof HS as HS'. rewrite Forall_forall in HS'.
  destruct (leaders_phase data HS HA HP) as (T1&G1&L1&_&R1); [intros; apply (HB p); auto|].
  set (P := plan 0 data) in *. set (ms := flat_map place P).
  destruct (relocate_blocks ms) with (L := flat_map (fun e => snd (fst e)) P) as (T2&G2&L2&R2).
  { intros [s t] [s' t'] Hm Hm' Em. destruct (in_place _ _ _ _ Hm) as (p&o&Hp&Hc), (in_place _ _ _ _ Hm') as (p'&o'&Hp'&Hc').
    cbn [fst snd] in Em. subst t. apply in_combine_r in Hc. apply in_combine_l in Hc'.
    apply (position_not_below _ _ _ Hc'). apply (HB p s' Hp). now right. }
  { apply Forall_forall. intros [s t] Hm. destruct (in_place _ _ _ _ Hm) as (p&o&Hp&Hc). cbn [fst snd]. split.
    - apply in_combine_l in Hc. exact (position_token _ _ _ Hc).
    - apply in_combine_r in Hc. destruct (HS' p Hp) as (_&_&_&HT&_). rewrite Forall_forall in HT. auto. }
  { apply Forall_forall. intros x Hx. apply in_flat_map in Hx as (e&He&Hx). apply in_plan in He as (p&o&Hp&_&->). exact (position_token _ _ _ Hx). }
  exists (T1 ++ collapse_block :: T2). split; [apply Forall_app; split; auto; constructor; [apply good_collapse|auto]|]. split.
  - rewrite app_length. cbn [length]. rewrite L1, L2. unfold ms, P. rewrite place_length. lia.
  - intros p Hp. destruct (plan_in data 0 p Hp) as (o&Ho). fold P in Ho. destruct (HS' p Hp) as (_&_&_&_&H5&_).
    rewrite run_append. pose proof (R1 0 _ Ho) as HR. cbn [fst snd] in HR. set (Z := run d 0 T1 (fst p)) in *.
    change (same_set (run d 0 T2 (run_block d 0 collapse_block Z)) (snd p)). set (Ps := positions o (length (snd p))) in *.
    assert (W : same_set (run_block d 0 collapse_block Z) Ps).
    { unfold Ps in *. destruct (length (snd p)) as [|m] eqn:Em; [destruct (snd p); [congruence|discriminate]|]. now apply collapse. }
    rewrite R2 by (intros w Hw; apply W in Hw; apply in_flat_map; exists (fst p, Ps, snd p); split; auto).
    assert (Place : forall q y, In (q, y) (combine Ps (snd p)) -> relocate ms q = y).
    { intros q y Hc. apply relocate_moved; [apply place_distinct|]. apply in_flat_map. exists (fst p, Ps, snd p). split; auto. }
    assert (LP : length Ps = length (snd p)) by apply positions_length.
    intros y. rewrite in_map_iff. split.
    + intros (q&<-&Hq). apply W in Hq. destruct (in_combine_left _ _ Ps (snd p) q LP Hq) as (y&Hy).
      rewrite (Place q y Hy). now apply in_combine_r in Hy.
    + intros Hy. destruct (in_combine_right _ _ Ps (snd p) y LP Hy) as (q&Hq). exists q. split; [now apply Place|].
      apply W. now apply in_combine_l in Hq.
Qed.

(* ---- softmax: collapse to near the positions, project onto a line, flatten and place ---- *)
(* A finite number of things that hold at all small temperatures hold together at all small temperatures. *)
Lemma small_temperatures A (Q : A -> R -> Prop) (l : list A) :
  (forall a, In a l -> exists ts, 0 < ts /\ forall tau, 0 < tau <= ts -> Q a tau) ->
  exists ts, 0 < ts /\ forall a tau, In a l -> 0 < tau <= ts -> Q a tau.
Proof.
  induction l as [|a l IH]; intros H; [exists 1; split; [lra|intros a tau []]|].
  destruct (H a (or_introl eq_refl)) as (t1&P1&H1). destruct IH as (t2&P2&H2); [intros; apply H; now right|].
  exists (Rmin t1 t2). split; [now apply Rmin_glb_lt|]. intros a' tau Ha Ht. pose proof (Rmin_l t1 t2). pose proof (Rmin_r t1 t2).
  destruct Ha as [<-|Ha]; [apply H1|apply H2]; auto; lra.
Qed.
(* Where one token has the largest score, the softmax mean is as near to it as one likes at all small temperatures. *)
Lemma soft_mean_near B Z x s eps : In s Z -> (forall z, In z Z -> z = s \/ score d B x z < score d B x s) -> 0 < eps ->
  exists ts, 0 < ts /\ forall tau, 0 < tau <= ts -> forall i, (i < d)%nat -> Rabs (coord (soft_mean d tau B Z x) i - coord s i) <= eps.
Proof.
  intros Hs Hb He. set (sc := score d B x) in *.
  assert (F : forall zi, In zi (list_prod Z (seq 0 d)) -> exists ts, 0 < ts /\ forall tau, 0 < tau <= ts ->
    exp (sc (fst zi) / tau) * Rabs (coord (fst zi) (snd zi) - coord s (snd zi)) * INR (length Z) <= exp (sc s / tau) * eps).
  { intros [z i] Hzi. apply in_prod_iff in Hzi as [Hz _]. cbn [fst snd]. pose proof (pos_INR (length Z)) as Pn.
    destruct (Hb z Hz) as [->|Hg].
    - exists 1. split; [lra|]. intros tau Ht. rewrite Rminus_diag_eq, Rabs_R0 by auto.
      assert (0 < exp (sc s / tau) * eps) by (apply Rmult_lt_0_compat; auto; apply exp_pos). lra.
    - set (gap := sc s - sc z). set (D := Rabs (coord z i - coord s i) * INR (length Z)).
      assert (PD : 0 <= D) by (apply Rmult_le_pos; auto; apply Rabs_pos). assert (Pg : 0 < gap) by (unfold gap; lra).
      exists (eps * gap / (D + 1)). split.
      { apply Rmult_lt_0_compat; [now apply Rmult_lt_0_compat|apply Rinv_0_lt_compat; lra]. }
      intros tau Ht. rewrite Rmult_assoc. fold D. replace (sc z / tau) with (sc s / tau + - (gap / tau)) by (unfold gap; field; lra).
      rewrite exp_plus, Rmult_assoc. apply Rmult_le_compat_l; [left; apply exp_pos|]. rewrite exp_Ropp.
      assert (Y : 0 < gap / tau) by (apply Rmult_lt_0_compat; auto; apply Rinv_0_lt_compat; lra).
      pose proof (exp_ineq1 (gap / tau) ltac:(lra)) as X.
      apply Rle_trans with (/ (gap / tau) * D).
      + apply Rmult_le_compat_r; auto. apply Rinv_le_contravar; lra.
      + apply Rmult_le_reg_l with (gap / tau); auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
        apply Rmult_le_reg_r with tau; [lra|]. replace (gap / tau * eps * tau) with (eps * gap) by (field; lra).
        apply Rle_trans with (D * (eps * gap / (D + 1))); [apply Rmult_le_compat_l; lra|].
        replace (D * (eps * gap / (D + 1))) with (eps * gap * (D / (D + 1))) by (field; lra).
        rewrite <- (Rmult_1_r (eps * gap)) at 2. apply Rmult_le_compat_l; [left; now apply Rmult_lt_0_compat|].
        apply Rmult_le_reg_r with (D + 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  destruct (small_temperatures _ _ _ F) as (ts&Pts&Hts). exists ts. split; [exact Pts|]. intros tau Ht i Hi.
  unfold soft_mean. rewrite coord_tabulate by auto. fold sc.
  destruct (in_split s Z Hs) as (X1&X2&EZ). set (e := fun z => exp (sc z / tau)).
  change (fun z => exp (sc z / tau) * coord z i) with (fun z => e z * coord z i). change (fun z => exp (sc z / tau)) with e.
  assert (Pn : 0 < INR (length Z)) by (apply INR_length_pos; rewrite EZ; destruct X1; discriminate).
  rewrite EZ. apply mean_near_best; [intros; apply exp_pos| |lra]. fold (e s).
  apply Rle_trans with (INR (length (X1 ++ X2)) * (e s * eps / INR (length Z))).
  - apply (sum_over_bounds (fun z => e z * Rabs (coord z i - coord s i))). intros z Hz. apply Rmult_le_reg_r with (INR (length Z)); auto.
    replace (e s * eps / INR (length Z) * INR (length Z)) with (e s * eps) by (field; lra).
    apply (Hts (z, i) tau); auto. apply in_prod; [|apply in_seq; lia]. rewrite EZ. apply in_app_iff in Hz. apply in_or_app. simpl. tauto.
  - assert (Pe : 0 < e s * eps) by (apply Rmult_lt_0_compat; auto; apply exp_pos).
    apply Rle_trans with (INR (length Z) * (e s * eps / INR (length Z))); [|right; field; lra].
    apply Rmult_le_compat_r.
    + left. apply Rmult_lt_0_compat; auto. now apply Rinv_0_lt_compat.
    + apply le_INR. rewrite EZ, !app_length. simpl. lia.
Qed.

Definition on_axis (r : R) : token := tabulate d (fun i => match i with O => r | _ => 0 end).
Lemma on_axis_token r : k r -> is_token (on_axis r).
Proof. intros H. apply is_token_tabulate. intros [|i] _; auto. apply (sub_0 k K). Qed.
Lemma dot_on_axis r x : dot d (on_axis r) x = r * coord x 0.
Proof.
  unfold on_axis. rewrite dot_sym, dot_tabulate. destruct d as [|n]; [lia|]. rewrite sum_upto_S.
  rewrite (sum_upto_ext n _ (fun _ => 0)) by (intros; ring). rewrite sum_upto_0. ring.
Qed.
(* One block flattens the interval around s on the axis to the point y. *)
Lemma place_one s y eta : k s -> k eta -> 0 < eta -> is_token y -> exists ns, good (plain_block 1 ns) /\
  (forall r, Rabs (r - s) <= eta -> feed_forward d (plain_block 1 ns) (on_axis r) = y) /\
  (forall x, length x = d -> coord x 0 <= s - 2 * eta \/ s + 2 * eta <= coord x 0 -> feed_forward d (plain_block 1 ns) x = x).
Proof.
  intros Ks Ke Pe Hy. set (a := s - 2 * eta). set (p := s - eta). set (q := s + eta). set (e := s + 2 * eta).
  set (delta := fun i : nat => match i with O => 1 | _ => 0 end).
  set (f := fun i => coord y i - delta i * p). set (g := fun i => coord y i - delta i * q).
  set (w1 := fun i => f i / (p - a)). set (w2 := fun i => (g i - f i) / (q - p) - f i / (p - a)).
  set (w3 := fun i => - g i / (e - q) - (g i - f i) / (q - p)). set (w4 := fun i => g i / (e - q)).
  set (ns := [Neuron (tabulate d w1) (on_axis 1) (- a); Neuron (tabulate d w2) (on_axis 1) (- p);
              Neuron (tabulate d w3) (on_axis 1) (- q); Neuron (tabulate d w4) (on_axis 1) (- e)]).
  assert (E : forall x i, (i < d)%nat -> coord (feed_forward d (plain_block 1 ns) x) i = coord x i + four_points a p q e (f i) (g i) (coord x 0)).
  { intros x i Hi. unfold feed_forward. rewrite coord_tabulate by auto.
    cbn [plain_block ns Semantics.eta neurons sum_over out_weights in_weights bias]. rewrite !coord_tabulate, !dot_on_axis by auto.
    unfold four_points, w1, w2, w3, w4, Rminus. rewrite !Rmult_1_l. ring. }
  exists ns. split; [|split].
  - assert (K1 : k 1) by apply (sub_1 k K). assert (K2e : k (2 * eta)) by (apply (sub_mult k K); auto; apply (sub_2 k K)).
    assert (Ka : k a) by now apply (sub_minus k K). assert (Kp : k p) by now apply (sub_minus k K).
    assert (Kq : k q) by now apply (sub_plus k K). assert (Kee : k e) by now apply (sub_plus k K).
    assert (Kd : forall i, k (delta i)) by (intros [|i]; cbn [delta]; auto; apply (sub_0 k K)).
    assert (Kf : forall i, k (f i)) by (intros i; apply (sub_minus k K); [apply (sub_coord k K); apply Hy|apply (sub_mult k K); auto]).
    assert (Kg : forall i, k (g i)) by (intros i; apply (sub_minus k K); [apply (sub_coord k K); apply Hy|apply (sub_mult k K); auto]).
    assert (KA : forall i, k (f i / (p - a))) by (intros i; apply (sub_div k K); [unfold p, a; lra|auto|now apply (sub_minus k K)]).
    assert (KB : forall i, k ((g i - f i) / (q - p))) by (intros i; apply (sub_div k K); [unfold p, q; lra|now apply (sub_minus k K)|now apply (sub_minus k K)]).
    assert (KC : forall i, k (g i / (e - q))) by (intros i; apply (sub_div k K); [unfold e, q; lra|auto|now apply (sub_minus k K)]).
    assert (KD : forall i, k (- g i / (e - q))) by (intros i; apply (sub_div k K); [unfold e, q; lra|now apply (sub_opp k K)|now apply (sub_minus k K)]).
    apply good_plain; auto. constructor; [|constructor; [|constructor; [|constructor; [|constructor]]]]; cbn [out_weights in_weights bias];
      (split; [apply is_token_tabulate; intros i _|split; [now apply on_axis_token|now apply (sub_opp k K)]]).
    + apply KA.
    + now apply (sub_minus k K).
    + now apply (sub_minus k K).
    + apply KC.
  - intros r Hr. apply (token_ext d); [apply tabulate_length|apply Hy|]. intros i Hi. rewrite E by auto. unfold on_axis.
    rewrite !coord_tabulate by lia. apply Rabs_bounds in Hr.
    replace (match i with O => r | _ => 0 end) with (delta i * r) by (destruct i; cbn [delta]; ring).
    unfold f, g. apply flatten_and_place; unfold a, p, q, e; lra.
  - intros x Lx Hx. apply (token_ext d); [apply tabulate_length|auto|]. intros i Hi. rewrite E by auto.
    rewrite four_points_outside; [ring| | |exact Hx]; unfold a, p, q, e; lra.
Qed.
Lemma place_all eta : k eta -> 0 < eta -> forall es : list (R * token), Forall (fun sy => k (fst sy) /\ is_token (snd sy)) es ->
  ForallOrdPairs (fun a c => 3 * eta <= Rabs (fst a - fst c)) es ->
  (forall a c, In a es -> In c es -> coord (snd a) 0 <= fst c - 2 * eta) ->
  exists T (f : token -> token), Forall good T /\ length T = length es /\ (forall tau X, run d tau T X = map f X) /\
    (forall s y r, In (s, y) es -> Rabs (r - s) <= eta -> f (on_axis r) = y) /\
    (forall x, length x = d -> (forall a, In a es -> coord x 0 <= fst a - 2 * eta) -> f x = x).
Proof.
  intros Ke Pe es HF HD HY. induction HD as [|[s y] es Hs HD IH].
  - exists [], (fun x => x). split; [constructor|]. split; auto. split; [intros; unfold run; simpl; now rewrite map_id|]. split; [intros s y r []|auto].
  - apply Forall_cons_iff in HF as [[Ks Hy] HF]. cbn [fst snd] in Ks, Hy.
    destruct IH as (T&f&G&L&RT&F1&F2); [auto|intros a c Ha Hc; apply HY; now right|].
    destruct (place_one s y eta Ks Ke Pe Hy) as (ns&Gn&N1&N2).
    exists (plain_block 1 ns :: T), (fun x => f (feed_forward d (plain_block 1 ns) x)).
    split; [constructor; auto|]. split; [simpl; congruence|]. split; [|split].
    + intros tau X. change (run d tau T (run_block d tau (plain_block 1 ns) X) = map (fun x => f (feed_forward d (plain_block 1 ns) x)) X).
      now rewrite run_plain, RT, map_map.
    + intros s' y' r [E|Hin] Hr.
      * injection E as <- <-. rewrite N1 by auto. apply F2; [apply Hy|]. intros a Ha. apply (HY (s, y)); simpl; auto.
      * rewrite N2; [now apply (F1 s')|apply tabulate_length|]. unfold on_axis. rewrite coord_tabulate by lia.
        rewrite Forall_forall in Hs. specialize (Hs _ Hin). cbn [fst] in Hs. apply Rabs_bounds in Hr.
        unfold Rabs in Hs. destruct (Rcase_abs (s - s')); [right|left]; lra.
    + intros x Lx Hx. rewrite N2; auto.
      * apply F2; auto. intros a Ha. apply Hx. now right.
      * left. apply (Hx (s, y)). now left.
Qed.
Lemma run_line u c tau X : length u = d -> (forall x, In x X -> 0 <= dot d u x + c) ->
  run_block d tau (plain_block 0 [Neuron (on_axis 1) u c]) X = map (fun x => on_axis (dot d u x + c)) X.
Proof.
  intros Lu HX. rewrite run_plain. apply map_ext_in. intros x Hx. apply tabulate_ext. intros i Hi.
  cbn [plain_block eta neurons sum_over out_weights in_weights bias]. unfold relu. rewrite Rmax_left by auto.
  unfold on_axis. rewrite coord_tabulate by auto. destruct i; ring.
Qed.
Lemma dot_near u x q eps : (forall i, (i < d)%nat -> 0 < coord u i) -> (forall i, (i < d)%nat -> Rabs (coord x i - coord q i) <= eps) ->
  Rabs (dot d u x - dot d u q) <= sum_upto d (coord u) * eps.
Proof.
  intros Pu H. rewrite <- dot_difference. unfold difference. rewrite dot_tabulate.
  eapply Rle_trans; [apply sum_upto_abs|]. rewrite Rmult_comm, <- sum_upto_scale. apply sum_upto_le. intros i Hi.
  rewrite Rabs_mult, (Rabs_pos_eq (coord u i)) by (left; auto). rewrite Rmult_comm. apply Rmult_le_compat_r; [left; auto|auto].
Qed.

Lemma soft_ending data : Forall sound_pair data -> ForallOrdPairs apart data -> all_positive data ->
  (forall p x, In p data -> In x (fst p) \/ In x (snd p) -> below b x) ->
  exists T ts, 0 < ts /\ Forall good T /\ length T = (2 * num_targets data + 2)%nat /\ forall tau, 0 < tau <= ts -> done tau T data.
Proof.
  intros HS HA HP HB. pose proof HS as HS'. rewrite Forall_forall in HS'.
  destruct (leaders_phase data HS HA HP) as (T1&G1&L1&SD1&R1); [intros; apply (HB p); auto|].
  set (P := plan 0 data) in *. set (ms := flat_map place P). set (Qs := flat_map (fun e => snd (fst e)) P).
  assert (TQ : Forall is_token Qs).
  { apply Forall_forall. intros x Hx. apply in_flat_map in Hx as (e&He&Hx). apply in_plan in He as (p&o&Hp&_&->). exact (position_token _ _ _ Hx). }
  pose proof TQ as TQ'. rewrite Forall_forall in TQ'.
  destruct (injective_direction k K d Qs TQ) as (u&Lu&Ku&Pu&Iu).
  assert (Ks : forall q, In q Qs -> k (dot d u q)) by (intros q Hq; apply (sub_dot k K); auto; now apply TQ').
  (* the intervals are apart *)
  destruct (free_positive k K (map (fun qq => dot d u (fst qq) - dot d u (snd qq)) (list_prod Qs Qs))) as (t&Kt&Pt&_&St).
  { apply Forall_map, Forall_forall. intros [q q'] Hqq. apply in_prod_iff in Hqq as [Hq Hq']. apply (sub_minus k K); auto. }
  assert (K3 : k 3) by (replace 3 with (2 + 1) by lra; apply (sub_plus k K); [apply (sub_2 k K)|apply (sub_1 k K)]).
  set (eta := t / 3). assert (Keta : k eta) by (apply (sub_div k K); auto; lra). assert (Peta : 0 < eta) by (unfold eta; lra).
  assert (Far : forall q q', In q Qs -> In q' Qs -> q <> q' -> 3 * eta <= Rabs (dot d u q - dot d u q')).
  { intros q q' Hq Hq' N. pose proof (Iu q q' Hq Hq' N) as D. unfold eta, Rabs. destruct (Rcase_abs _).
    - assert (t < dot d u q' - dot d u q); [|lra]. apply St; [|lra]. apply in_map_iff. exists (q', q). split; auto. now apply in_prod.
    - assert (t < dot d u q - dot d u q'); [|lra]. apply St; [|lra]. apply in_map_iff. exists (q, q'). split; auto. now apply in_prod. }
  (* and beyond all targets *)
  destruct (upper_bound k K (map (fun q => - dot d u q) Qs)) as (beta&Kbeta&_&Hbeta).
  { apply Forall_map, Forall_forall. intros q Hq. apply (sub_opp k K); auto. }
  set (c := beta + b + 2 * eta).
  assert (Kc : k c) by (repeat apply (sub_plus k K); auto; apply (sub_mult k K); auto; apply (sub_2 k K)).
  assert (Hc : forall q, In q Qs -> b < dot d u q + c - 2 * eta).
  { intros q Hq. pose proof (Hbeta _ (in_map (fun q => - dot d u q) _ _ Hq)). unfold c. lra. }
  set (es := map (fun qy => (dot d u (fst qy) + c, snd qy)) ms).
  assert (Ims : forall q y, In (q, y) ms -> In q Qs /\ is_token y /\ below b y).
  { intros q y Hm. split; [unfold Qs, P; rewrite <- place_sources; exact (in_map fst _ _ Hm)|].
    destruct (in_place _ _ _ _ Hm) as (p&o&Hp&Hcb). apply in_combine_r in Hcb. destruct (HS' p Hp) as (_&_&_&HT&_). rewrite Forall_forall in HT.
    split; auto. apply (HB p); auto. }
  destruct (place_all eta Keta Peta es) as (T3&f&G3&L3&R3&F3&_).
  { apply Forall_map, Forall_forall. intros [q y] Hm. destruct (Ims q y Hm) as (Hq&Hy&_). cbn [fst snd]. split; auto. apply (sub_plus k K); auto. }
  { unfold es. apply ordpairs_map with (P := fun m m' => fst m <> fst m'); [apply NoDup_ordpairs, place_distinct|].
    intros [q y] [q' y'] Hm Hm' N. cbn [fst snd] in *. destruct (Ims q y Hm) as (Hq&_&_), (Ims q' y' Hm') as (Hq'&_&_).
    replace (dot d u q + c - (dot d u q' + c)) with (dot d u q - dot d u q') by ring. auto. }
  { intros a a' Ha Ha'. apply in_map_iff in Ha as ([q y]&<-&Hm). apply in_map_iff in Ha' as ([q' y']&<-&Hm'). cbn [fst snd].
    destruct (Ims q y Hm) as (_&_&By), (Ims q' y' Hm') as (Hq'&_&_). specialize (By 0%nat ltac:(lia)). apply Rabs_def2 in By.
    pose proof (Hc q' Hq'). lra. }
  (* how near the softmax means have to be, and up to which temperature they are *)
  set (U := sum_upto d (coord u)).
  assert (PU : 0 < U) by (rewrite <- (sum_upto_0 d); apply sum_upto_lt; [lia|auto]).
  set (eps := eta / U). assert (Peps : 0 < eps) by (apply Rmult_lt_0_compat; auto; now apply Rinv_0_lt_compat).
  set (Z := fun e : entry_ => run d 0 T1 (fst (fst e))).
  destruct (small_temperatures _ (fun ex tau => exists s, In s (snd (fst (fst ex))) /\ (In (snd ex) (snd (fst (fst ex))) -> s = snd ex) /\
      forall i, (i < d)%nat -> Rabs (coord (soft_mean d tau collapse_block (Z (fst ex)) (snd ex)) i - coord s i) <= eps)
    (flat_map (fun e => map (fun x => (e, x)) (Z e)) P)) as (ts&Pts&Hts).
  { intros [e x] Hex. apply in_flat_map in Hex as (e'&He&Hex). apply in_map_iff in Hex as (x'&E&Hx). injection E as -> ->. cbn [fst snd].
    pose proof (R1 0 e He) as HR. fold (Z e) in HR. pose proof He as He'. apply in_plan in He' as (p&o&Hp&_&Ee).
    destruct (length (snd p)) as [|m] eqn:Em; [destruct (HS' p Hp) as (_&_&_&_&H5&_); destruct (snd p); [congruence|discriminate]|].
    assert (Es : snd (fst e) = positions o (S m)) by (rewrite Ee; reflexivity). rewrite Es in HR |- *.
    destruct (ready_choice (Z e) o m HR x Hx) as (s&Hs&Hz&Hb&Hsx).
    destruct (soft_mean_near collapse_block (Z e) x s eps Hz) as (t1&Pt1&Ht1); auto.
    { intros z Hzz. rewrite !score_collapse. auto. }
    exists t1. split; auto. intros tau Ht. exists s. split; auto. }
  exists (T1 ++ collapse_block :: plain_block 0 [Neuron (on_axis 1) u c] :: T3), ts. split; [exact Pts|]. split; [|split].
  - apply Forall_app. split; auto. constructor; [apply good_collapse|]. constructor; auto. apply good_plain; [apply (sub_0 k K)|simpl; lia|].
    constructor; [|constructor]. cbn [out_weights in_weights bias]. split; [apply on_axis_token, (sub_1 k K)|]. split; [split; auto|auto].
  - rewrite app_length. cbn [length]. rewrite L1, L3. unfold es. rewrite map_length. unfold ms, P. rewrite place_length. lia.
  - intros tau Ht p Hp. destruct (plan_in data 0 p Hp) as (o&Ho). fold P in Ho. set (Ps := positions o (length (snd p))) in *.
    set (e := (fst p, Ps, snd p)) in *. rewrite run_append, SD1 by auto. change (run d 0 T1 (fst p)) with (Z e).
    pose proof (R1 0 e Ho) as (HT&HI&_). change (run d 0 T1 (fst (fst e))) with (Z e) in HT, HI. change (snd (fst e)) with Ps in HI.
    change (same_set (run d tau T3 (run_block d tau (plain_block 0 [Neuron (on_axis 1) u c]) (run_block d tau collapse_block (Z e)))) (snd p)).
    assert (Near : forall x, In x (Z e) -> exists s, In s Ps /\ (In x Ps -> s = x) /\
      Rabs (dot d u (soft_mean d tau collapse_block (Z e) x) - dot d u s) <= eta).
    { intros x Hx. destruct (Hts (e, x) tau) as (s&Hs&Hsx&Hn); auto.
      { apply in_flat_map. exists e. split; auto. now apply in_map. }
      cbn [fst snd] in *. exists s. split; [exact Hs|]. split; [exact Hsx|].
      eapply Rle_trans; [apply dot_near with (eps := eps); auto|]. fold U. unfold eps. right. field. lra. }
    assert (InQ : forall s, In s Ps -> In s Qs) by (intros s Hs; apply in_flat_map; exists e; auto).
    rewrite run_collapse by auto. rewrite (map_ext _ (fun x => soft_mean d tau collapse_block (Z e) x)) by (intros; apply attended_soft; lra).
    rewrite run_line; auto.
    2:{ intros z Hz. apply in_map_iff in Hz as (x&<-&Hx). destruct (Near x Hx) as (s&Hs&_&Hn). pose proof (Hc s (InQ s Hs)).
        apply Rabs_bounds in Hn. lra. }
    rewrite R3, !map_map.
    assert (LP : length Ps = length (snd p)) by apply positions_length.
    assert (Put : forall x s y, In (s, y) (combine Ps (snd p)) -> Rabs (dot d u (soft_mean d tau collapse_block (Z e) x) - dot d u s) <= eta ->
      f (on_axis (dot d u (soft_mean d tau collapse_block (Z e) x) + c)) = y).
    { intros x s y Hsy Hn. apply (F3 (dot d u s + c)).
      - apply in_map_iff. exists (s, y). split; auto. apply in_flat_map. exists e. split; auto.
      - replace (dot d u (soft_mean d tau collapse_block (Z e) x) + c - (dot d u s + c))
          with (dot d u (soft_mean d tau collapse_block (Z e) x) - dot d u s) by ring. exact Hn. }
    intros y. rewrite in_map_iff. split.
    + intros (x&<-&Hx). destruct (Near x Hx) as (s&Hs&_&Hn). destruct (in_combine_left _ _ Ps (snd p) s LP Hs) as (y&Hy).
      rewrite (Put x s y Hy Hn). now apply in_combine_r in Hy.
    + intros Hy. destruct (in_combine_right _ _ Ps (snd p) y LP Hy) as (q&Hq). assert (Hqp : In q Ps) by (apply in_combine_l in Hq; auto).
      exists q. split; [|now apply HI]. destruct (Near q (HI q Hqp)) as (s&Hs&Hsx&Hn). specialize (Hsx Hqp). subst s. now apply (Put q q).
Qed.
End Positions.

(* ---- the two theorems, over any subfield ---- *)
(* Shift and separation, which leave a dataset of positive sequences without common tokens. *)
Lemma preparation data : data <> [] -> Forall sound_pair data -> ForallOrdPairs different data -> exists T b, Forall good T /\
  (length T + 1 <= 2 * length data)%nat /\ steady T data /\ k b /\ 1 <= b /\ let data' := advance T data in
  Forall sound_pair data' /\ ForallOrdPairs apart data' /\ all_positive data' /\
  (forall p x, In p data' -> In x (fst p) \/ In x (snd p) -> below b x).
Proof.
  intros HN HS HD. destruct (shift_phase data HS HD) as (B&GB&SB&S1&D1&P1). set (data1 := advance [B] data) in *.
  set (D := map (fun p => (0%nat, p)) data1). assert (ED : map snd D = data1) by (unfold D; rewrite map_map; apply map_id).
  destruct (separation_phase (length data - 1) D) as (T1&G1&L1&SD1&S2&A2&P2); rewrite ?ED; auto.
  - unfold D, data1, advance, num_labels. rewrite !map_map, !map_length. cbn [fst].
    assert (1 <= length (nodup Nat.eq_dec (map (fun _ : pair_ => 0%nat) data)))%nat; [|lia].
    destruct data as [|p data']; [congruence|].
    assert (I : In 0%nat (nodup Nat.eq_dec (map (fun _ : pair_ => 0%nat) (p :: data')))) by (apply nodup_In; now left).
    destruct (nodup _ _); [destruct I|simpl; lia].
  - intros p q Hp Hq N. apply in_map_iff in Hp as (p0&<-&_). apply in_map_iff in Hq as (q0&<-&_). now contradiction N.
  - rewrite ED in SD1, S2, A2, P2. set (data2 := advance T1 data1) in *.
    destruct (coordinates_bounded (tokens_of data2 ++ flat_map snd data2)) as (b&Kb&B1&HB).
    { apply Forall_app. split; [now apply tokens_are_tokens|]. apply Forall_forall. intros x Hx. apply in_flat_map in Hx as (p&Hp&Hx).
      rewrite Forall_forall in S2. destruct (S2 p Hp) as (_&_&_&HT&_). rewrite Forall_forall in HT. auto. }
    exists ([B] ++ T1), b. split; [apply Forall_app; split; auto|].
    split; [rewrite app_length; cbn [length]; destruct data; [congruence|]; cbn [length] in *; lia|].
    split; [now apply steady_append|]. split; [exact Kb|]. split; [exact B1|]. cbv zeta. rewrite advance_append. fold data1 data2.
    repeat (split; [assumption|]). intros p x Hp [Hx|Hx]; apply HB, in_or_app; [left; eapply in_tokens_of; eauto|right; apply in_flat_map; eauto].
Qed.
Theorem hard_existence data : data <> [] -> Forall sound_pair data -> ForallOrdPairs different data ->
  exists T, Forall good T /\ (length T <= 2 * num_targets data + 2 * length data)%nat /\ done 0 T data.
Proof.
  intros HN HS HD. destruct (preparation data HN HS HD) as (T1&b&G1&L1&SD1&Kb&B1&S2&A2&P2&HB).
  destruct (hard_ending b Kb B1 (advance T1 data) S2 A2 P2 HB) as (T2&G2&L2&D2). rewrite num_targets_advance in L2.
  exists (T1 ++ T2). split; [apply Forall_app; auto|]. split; [rewrite app_length; lia|]. now apply done_append.
Qed.
Theorem soft_existence data : data <> [] -> Forall sound_pair data -> ForallOrdPairs different data ->
  exists T ts, 0 < ts /\ Forall good T /\ (length T <= 2 * num_targets data + 2 * length data + 1)%nat /\
    forall tau, 0 < tau <= ts -> done tau T data.
Proof.
  intros HN HS HD. destruct (preparation data HN HS HD) as (T1&b&G1&L1&SD1&Kb&B1&S2&A2&P2&HB).
  destruct (soft_ending b Kb B1 (advance T1 data) S2 A2 P2 HB) as (T2&ts&Pts&G2&L2&D2). rewrite num_targets_advance in L2.
  exists (T1 ++ T2), ts. split; [exact Pts|]. split; [apply Forall_app; auto|]. split; [rewrite app_length; lia|].
  intros tau Ht. apply done_append; auto.
Qed.
End Existence.

Lemma valid_sound (k : R -> Prop) d data : valid_data d data -> (forall p x, In p data -> In x (fst p) \/ In x (snd p) -> Forall k x) ->
  data <> [] /\ Forall (sound_pair k d) data /\ ForallOrdPairs different data.
Proof.
  intros (_&(HN&HF)&HV&HD) HK. split; [auto|]. split; [|exact HD]. rewrite Forall_forall in *. intros p Hp.
  destruct (HF p Hp) as (_&H2&H3&H4). destruct (HV p Hp) as (H5&H6&H7). rewrite Forall_forall in H3, H4.
  unfold sound_pair. rewrite !Forall_forall. repeat split; auto; apply (HK p); auto.
Qed.
Lemma good_sizes k d T n : Forall (good k d) T -> (length T <= n)%nat ->
  Forall (fits_block d) T /\ Forall (fun B => (width B <= 4)%N) T /\ (count T <= N.of_nat n)%N
  /\ (parameters d T <= (10 * N.of_nat d + 8) * N.of_nat n)%N.
Proof.
  intros HG HL. split; [|split; [|split]].
  - apply Forall_impl with (2 := HG). intros B H. apply H.
  - apply Forall_impl with (2 := HG). intros B H. apply H.
  - unfold count. lia.
  - assert (P : (parameters d T <= (10 * N.of_nat d + 8) * N.of_nat (length T))%N).
    { induction HG as [|B T (_&_&HB&_) HG IH]; [apply N.le_0_l|]. assert (length T <= n)%nat by (simpl in HL; lia).
      specialize (IH H). change (parameters d (B :: T)) with (block_parameters d B + parameters d T)%N.
      cbn [length]. rewrite Nat2N.inj_succ, N.mul_succ_r. set (c := (10 * N.of_nat d + 8)%N) in *. clearbody c.
      set (e := (c * N.of_nat (length T))%N) in *. clearbody e. lia. }
    eapply N.le_trans; [exact P|]. apply N.mul_le_mono_l. lia.
Qed.
Definition hard_bound {S : Type} (data : pairs S) : nat := 2 * num_targets data + 2 * length data + 1.
Definition soft_bound {S : Type} (data : pairs S) : nat := 2 * num_targets data + 3 * length data.

(* Theorem 1.6 over the reals: 2M + 2N + 1 blocks of width 4 and O(d (M + N)) parameters interpolate at temperature 0. *)
Theorem hardmax_existence d (data : pairs R) : valid_data d data ->
  exists T : transformer R, Forall (fits_block d) T /\ Forall (fun B => (width B <= 4)%N) T
    /\ (count T <= N.of_nat (hard_bound data))%N /\ (parameters d T <= (10 * N.of_nat d + 8) * N.of_nat (hard_bound data))%N
    /\ interpolates d 0 T data.
Proof.
  intros H. assert (K : subfield (fun _ => True)) by (constructor; auto).
  assert (A : forall x : token, Forall (fun _ => True) x) by (intros x; apply Forall_forall; auto).
  destruct (valid_sound (fun _ => True) d data H ltac:(auto)) as (H1&H2&H3). destruct H as (Hd&_).
  destruct (hard_existence _ K d Hd data H1 H2 H3) as (T&HT&HL&HD).
  destruct (good_sizes _ d T (hard_bound data) HT (Nat.le_trans _ _ _ HL (Nat.le_add_r _ 1))) as (G1&G2&G3&G4).
  exists T. repeat (split; [assumption|]). intros X Y HI. exact (HD (X, Y) HI).
Qed.

Lemma soft_length (data : pairs R) n : data <> [] ->
  (n <= 2 * num_targets data + 2 * length data + 1)%nat -> (n <= soft_bound data)%nat.
Proof. intros HN HL. unfold soft_bound. destruct data; [congruence|]. cbn [length] in *. lia. Qed.
(* Theorem 1.8 over the reals: 2M + 3N blocks of width 4 interpolate at every small enough temperature. *)
Theorem softmax_existence d (data : pairs R) : valid_data d data ->
  exists (T : transformer R) (limit : R), 0 < limit /\ Forall (fits_block d) T /\ Forall (fun B => (width B <= 4)%N) T
    /\ (count T <= N.of_nat (soft_bound data))%N /\ (parameters d T <= (10 * N.of_nat d + 8) * N.of_nat (soft_bound data))%N
    /\ forall tau, 0 < tau <= limit -> interpolates d tau T data.
Proof.
  intros H. assert (K : subfield (fun _ => True)) by (constructor; auto).
  assert (A : forall x : token, Forall (fun _ => True) x) by (intros x; apply Forall_forall; auto).
  destruct (valid_sound (fun _ => True) d data H ltac:(auto)) as (H1&H2&H3). pose proof H as (Hd&_).
  destruct (soft_existence _ K d Hd data H1 H2 H3) as (T&ts&Pts&HT&HL&HD).
  destruct (good_sizes _ d T (soft_bound data) HT (soft_length data _ H1 HL)) as (G1&G2&G3&G4).
  exists T, ts. repeat (split; [assumption|]). intros tau Ht X Y HI. exact (HD tau Ht (X, Y) HI).
Qed.

(* ---- rational data need only rational weights ---- *)
Definition rational (x : R) : Prop := exists q, x = Q2R q.
Lemma rational_subfield : subfield rational.
Proof.
  constructor.
  - exists 0%Q. now rewrite Q2R_0.
  - exists 1%Q. now rewrite Q2R_1.
  - intros x y [q ->] [r ->]. exists (q + r)%Q. now rewrite Q2R_plus.
  - intros x [q ->]. exists (- q)%Q. now rewrite Q2R_opp.
  - intros x y [q ->] [r ->]. exists (q * r)%Q. now rewrite Q2R_mult.
  - intros x N [q ->]. exists (/ q)%Q. rewrite Q2R_inv; auto. intros E. apply N. now rewrite (Qeq_eqR _ _ E), Q2R_0.
Qed.
Lemma lift_list A B (f : A -> B) l : Forall (fun b => exists a, b = f a) l -> exists m, l = map f m.
Proof. induction 1 as [|b l (a&->) H (m&->)]; [now exists []|]. now exists (a :: m). Qed.
Lemma lift_square M : square_in rational M -> exists M', M = map_square Q2R M'.
Proof.
  destruct M as [s o]. intros [(q&E) H]. cbn [scale outers] in *.
  destruct (lift_list _ _ (fun lr : list Q * list Q => (map Q2R (fst lr), map Q2R (snd lr))) o) as (o'&->).
  { apply Forall_impl with (2 := H). intros [l r] [Hl Hr]. cbn [fst snd] in *.
    destruct (lift_list _ _ _ _ Hl) as (l'&->), (lift_list _ _ _ _ Hr) as (r'&->). now exists (l', r'). }
  exists (Square q o'). unfold map_square. cbn [scale outers]. now rewrite E.
Qed.
Lemma lift_block B : block_in rational B -> exists B', B = map_block Q2R B'.
Proof.
  destruct B as [e ns r A V]. intros ((e'&E1)&Hn&(r'&E2)&HA&HV). cbn [eta neurons Semantics.rho score_matrix value_matrix] in *.
  destruct (lift_square A HA) as (A'&->), (lift_square V HV) as (V'&->).
  destruct (lift_list _ _ (map_neuron Q2R) ns) as (ns'&->).
  { apply Forall_impl with (2 := Hn). intros [w u b] (Hw&Hu&(b'&Eb)). cbn [out_weights in_weights bias] in *.
    destruct (lift_list _ _ _ _ Hw) as (w'&->), (lift_list _ _ _ _ Hu) as (u'&->). exists (Neuron w' u' b').
    unfold map_neuron. cbn [out_weights in_weights bias]. now rewrite Eb. }
  exists (Block e' ns' r' A' V'). unfold map_block. cbn [eta neurons Semantics.rho score_matrix value_matrix]. now rewrite E1, E2.
Qed.
Lemma fits_block_map d (B : block Q) : fits_block d (map_block Q2R B) -> fits_block d B.
Proof.
  intros (H1&H2&H3). unfold fits_square in *. cbn [map_block map_square neurons score_matrix value_matrix outers] in *.
  rewrite Forall_map in H1, H2, H3. unfold fits_block, fits_square, fits_neuron in *. repeat split.
  - apply Forall_impl with (2 := H1). intros n. cbn [map_neuron out_weights in_weights]. now rewrite !map_length.
  - apply Forall_impl with (2 := H2). intros lr. cbn [fst snd]. now rewrite !map_length.
  - apply Forall_impl with (2 := H3). intros lr. cbn [fst snd]. now rewrite !map_length.
Qed.
Lemma width_map (B : block Q) : width (map_block Q2R B) = width B.
Proof. unfold width, count, map_block. cbn [neurons]. now rewrite map_length. Qed.
Lemma square_parameters_map d (M : square Q) : square_parameters d (map_square Q2R M) = square_parameters d M.
Proof. destruct M as [s [|x [|y o]]]; reflexivity. Qed.
Lemma parameters_map d (T : transformer Q) : parameters d (map (map_block Q2R) T) = parameters d T.
Proof.
  unfold parameters. induction T as [|B T IH]; [reflexivity|]. cbn [map fold_right]. rewrite IH. f_equal.
  unfold block_parameters. rewrite width_map. cbn [map_block score_matrix value_matrix]. now rewrite !square_parameters_map.
Qed.
Lemma num_targets_map (data : pairs Q) : num_targets (map_data Q2R data) = num_targets data.
Proof. unfold num_targets, map_data. induction data as [|p data IH]; [reflexivity|]. cbn [map fold_right snd]. now rewrite IH, map_length. Qed.
Lemma hard_bound_map (data : pairs Q) : hard_bound (map_data Q2R data) = hard_bound data.
Proof. unfold hard_bound. rewrite num_targets_map. unfold map_data. now rewrite map_length. Qed.
Lemma soft_bound_map (data : pairs Q) : soft_bound (map_data Q2R data) = soft_bound data.
Proof. unfold soft_bound. rewrite num_targets_map. unfold map_data. now rewrite map_length. Qed.
Lemma rational_sound d (data : pairs Q) : valid_data d (map_data Q2R data) ->
  map_data Q2R data <> [] /\ Forall (sound_pair rational d) (map_data Q2R data) /\ ForallOrdPairs different (map_data Q2R data).
Proof.
  intros H. apply valid_sound; auto. intros p x Hp Hx. apply in_map_iff in Hp as (p0&<-&_). cbn [fst snd] in Hx.
  destruct Hx as [Hx|Hx]; apply in_map_iff in Hx as (x0&<-&_); apply Forall_map, Forall_forall; intros q _; now exists q.
Qed.
(* A transformer with rational weights, found over the reals, is one over the rationals. *)
Lemma certify d (data : pairs Q) TR n (temps : R -> Prop) : valid_data d (map_data Q2R data) -> Forall (good rational d) TR ->
  (length TR <= n)%nat -> (forall tau, temps tau -> done d tau TR (map_data Q2R data)) ->
  exists T : transformer Q, certified (Claim d 4 (N.of_nat n) ((10 * N.of_nat d + 8) * N.of_nat n) temps) data T.
Proof.
  intros (Hd&(HN&HF)&_) HT HL HD.
  destruct (lift_list _ _ (map_block Q2R) TR) as (T&->).
  { apply Forall_impl with (2 := HT). intros B (_&_&_&HB). now apply lift_block. }
  destruct (good_sizes _ d _ n HT HL) as (G1&G2&G3&G4).
  exists T. unfold certified. cbn [dimension max_width max_blocks max_parameters temperatures].
  split; [exact Hd|]. split.
  { split; [intros ->; now apply HN|]. unfold map_data in HF. rewrite Forall_map in HF. apply Forall_impl with (2 := HF).
    intros p (F1&F2&F3&F4). cbn [fst snd] in *. rewrite Forall_map in F3, F4. split; [|split; [|split]].
    - intros E. now rewrite E in F1.
    - intros E. now rewrite E in F2.
    - apply Forall_impl with (2 := F3). intros x. now rewrite map_length.
    - apply Forall_impl with (2 := F4). intros x. now rewrite map_length. }
  rewrite Forall_map in G1, G2. split; [apply Forall_impl with (2 := G1); apply fits_block_map|].
  split; [apply Forall_impl with (2 := G2); intros B; now rewrite width_map|].
  split; [unfold count in *; now rewrite map_length in G3|]. split; [now rewrite parameters_map in G4|].
  intros tau Ht X Y HI. exact (HD tau Ht (X, Y) HI).
Qed.

(* The same with rational numbers: what a certificate claims can always be met. *)
Theorem rational_hardmax_existence d (data : pairs Q) : valid_data d (map_data Q2R data) ->
  exists T : transformer Q, certified
    (Claim d 4 (N.of_nat (hard_bound data)) ((10 * N.of_nat d + 8) * N.of_nat (hard_bound data)) (fun tau => tau = 0)) data T.
Proof.
  intros H. destruct (rational_sound d data H) as (H1&H2&H3). rewrite <- hard_bound_map.
  destruct (hard_existence rational rational_subfield d (proj1 H) _ H1 H2 H3) as (TR&HT&HL&HD).
  apply (certify d data TR); auto; [exact (Nat.le_trans _ _ _ HL (Nat.le_add_r _ 1))|]. intros tau ->. exact HD.
Qed.
Theorem rational_softmax_existence d (data : pairs Q) : valid_data d (map_data Q2R data) ->
  exists (T : transformer Q) (limit : Q), 0 < Q2R limit /\ certified
    (Claim d 4 (N.of_nat (soft_bound data)) ((10 * N.of_nat d + 8) * N.of_nat (soft_bound data))
      (fun tau => 0 < tau <= Q2R limit)) data T.
Proof.
  intros H. destruct (rational_sound d data H) as (H1&H2&H3). rewrite <- soft_bound_map.
  destruct (soft_existence rational rational_subfield d (proj1 H) _ H1 H2 H3) as (TR&ts&Pts&HT&HL&HD).
  destruct (archimed_cor1 ts Pts) as (n&Hn&Pn).
  assert (EL : Q2R (1 # Pos.of_nat n) = / INR n).
  { unfold Q2R. cbn [Qnum Qden]. rewrite Rmult_1_l. f_equal. rewrite <- positive_nat_Z, Nat2Pos.id by lia. now rewrite <- INR_IZR_INZ. }
  destruct (certify d data TR (soft_bound (map_data Q2R data)) (fun tau => 0 < tau <= Q2R (1 # Pos.of_nat n))) as (T&C); auto.
  - exact (soft_length _ _ H1 HL).
  - intros tau Ht. apply HD. rewrite EL in Ht. lra.
  - exists T, (1 # Pos.of_nat n)%Q. split; [|exact C]. rewrite EL. apply Rinv_0_lt_compat, lt_0_INR. lia.
Qed.
