(* Numbers that the checkers compute with: an abstract type K with a map phi into the reals. Comparison and
   ring operations are exact; division, floor and rounding are hints that the checkers check again.
   lazy_add and lazy_mul may leave fractions unreduced; they serve inside inner products. *)
From Coq Require Import List QArith Qreals Reals Lra Lia Bool Qabs.
From Interp Require Import Semantics.
Import ListNotations.
Local Open Scope R_scope.

Record numbers := Numbers {
  K :> Type; of_Q : Q -> K; add : K -> K -> K; mul : K -> K -> K; opp : K -> K; abs : K -> K;
  leb : K -> K -> bool; lazy_add : K -> K -> K; lazy_mul : K -> K -> K; reduce : K -> K;
  floor : K -> N; div : K -> K -> K; round_up : K -> K;          (* hints *)
  phi : K -> R;
  phi_of_Q : forall q, phi (of_Q q) = Q2R q;
  phi_add : forall a b, phi (add a b) = phi a + phi b;
  phi_mul : forall a b, phi (mul a b) = phi a * phi b;
  phi_lazy_add : forall a b, phi (lazy_add a b) = phi a + phi b;
  phi_lazy_mul : forall a b, phi (lazy_mul a b) = phi a * phi b;
  phi_reduce : forall a, phi (reduce a) = phi a;
  phi_opp : forall a, phi (opp a) = - phi a;
  phi_abs : forall a, phi (abs a) = Rabs (phi a);
  phi_leb : forall a b, leb a b = true <-> phi a <= phi b }.
Arguments of_Q {_}. Arguments add {_}. Arguments mul {_}. Arguments opp {_}. Arguments abs {_}.
Arguments leb {_}. Arguments lazy_add {_}. Arguments lazy_mul {_}. Arguments reduce {_}. Arguments floor {_}. Arguments div {_}. Arguments round_up {_}. Arguments phi {_}.

Lemma Q2R_0 : Q2R 0 = 0.
Proof. unfold Q2R; simpl; lra. Qed.
Lemma Q2R_1 : Q2R 1 = 1.
Proof. unfold Q2R; simpl; lra. Qed.
Lemma Q2R_abs q : Q2R (Qabs q) = Rabs (Q2R q).
Proof.
  apply Qabs_case; intros H; apply Qle_Rle in H; rewrite Q2R_0 in H.
  - now rewrite Rabs_pos_eq.
  - now rewrite Q2R_opp, Rabs_left1.
Qed.

(* ---- sums ---- *)
Lemma sum_upto_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum_upto n f = sum_upto n g.
Proof. induction n; simpl; intros H; auto. rewrite IHn, (H n); auto. Qed.
Lemma sum_upto_S n f : sum_upto (S n) f = f O + sum_upto n (fun i => f (S i)).
Proof. induction n; simpl in *; [lra|]. rewrite IHn. lra. Qed.
Lemma sum_upto_plus n f g : sum_upto n (fun i => f i + g i) = sum_upto n f + sum_upto n g.
Proof. induction n; simpl; lra. Qed.
Lemma sum_upto_scale n a f : sum_upto n (fun i => a * f i) = a * sum_upto n f.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.
Lemma sum_upto_0 n : sum_upto n (fun _ => 0) = 0.
Proof. induction n; simpl; lra. Qed.
Lemma sum_upto_abs n f : Rabs (sum_upto n f) <= sum_upto n (fun i => Rabs (f i)).
Proof. induction n; simpl. rewrite Rabs_R0; lra.
  eapply Rle_trans; [apply Rabs_triang|]. lra. Qed.
Lemma sum_upto_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum_upto n f <= sum_upto n g.
Proof. induction n; simpl; intros H; [lra|]. apply Rplus_le_compat; auto. Qed.
Lemma sum_upto_pick n i a f : (i < n)%nat ->
  sum_upto n (fun k => (if Nat.eqb k i then a else 0) * f k) = a * f i.
Proof.
  induction n; intros H; [lia|]. simpl. destruct (Nat.eqb_spec n i).
  - subst. rewrite (sum_upto_ext i _ (fun _ => 0)). rewrite sum_upto_0; lra.
    intros k Hk. destruct (Nat.eqb_spec k i); [lia|lra].
  - rewrite IHn by lia. lra.
Qed.
Lemma sum_over_ext A (f g : A -> R) l : (forall a, In a l -> f a = g a) -> sum_over f l = sum_over g l.
Proof. induction l; simpl; intros H; auto. rewrite IHl, H; auto. Qed.
Lemma sum_over_map A B (h : A -> B) f l : sum_over f (map h l) = sum_over (fun a => f (h a)) l.
Proof. induction l; simpl; congruence. Qed.
Lemma sum_over_app A (f : A -> R) l m : sum_over f (l ++ m) = sum_over f l + sum_over f m.
Proof. induction l; simpl; lra. Qed.
Lemma sum_over_const A (c : R) (l : list A) : sum_over (fun _ => c) l = INR (length l) * c.
Proof. induction l; cbn [sum_over length]; [simpl; lra|]. rewrite IHl, S_INR. lra. Qed.
Lemma sum_over_scale A (c : R) f (l : list A) : sum_over (fun a => c * f a) l = c * sum_over f l.
Proof. induction l; simpl; [lra|]. rewrite IHl; lra. Qed.
Lemma sum_over_plus A f g (l : list A) : sum_over (fun a => f a + g a) l = sum_over f l + sum_over g l.
Proof. induction l; simpl; lra. Qed.
Lemma sum_over_0 A (l : list A) : sum_over (fun _ => 0) l = 0.
Proof. induction l; simpl; lra. Qed.
Lemma sum_over_seq n f : sum_over f (seq 0 n) = sum_upto n f.
Proof. induction n; auto. rewrite seq_S, sum_over_app, IHn. simpl. lra. Qed.
(* a sum of linear forms is a linear form *)
Lemma sum_swap A n (g : A -> nat -> R) (f : nat -> R) l :
  sum_over (fun a => sum_upto n (fun k => g a k * f k)) l = sum_upto n (fun k => sum_over (fun a => g a k) l * f k).
Proof. induction l; simpl.
  - rewrite (sum_upto_ext n _ (fun _ => 0)); [now rewrite sum_upto_0|intros; lra].
  - rewrite IHl, <- sum_upto_plus. apply sum_upto_ext. intros; ring. Qed.

(* ---- tokens ---- *)
Lemma tabulate_length d f : length (tabulate d f) = d.
Proof. unfold tabulate. now rewrite map_length, seq_length. Qed.
Lemma coord_tabulate d f i : (i < d)%nat -> coord (tabulate d f) i = f i.
Proof. intros H. unfold coord, tabulate. rewrite (nth_indep _ 0 (f O)) by now rewrite map_length, seq_length.
  now rewrite map_nth, seq_nth. Qed.
Lemma token_ext d x y : length x = d -> length y = d -> (forall i, (i < d)%nat -> coord x i = coord y i) -> x = y.
Proof. intros Hx Hy H. apply nth_ext with (d := 0) (d' := 0); [congruence|]. intros i Hi. apply H. congruence. Qed.
Lemma tabulate_ext d f g : (forall i, (i < d)%nat -> f i = g i) -> tabulate d f = tabulate d g.
Proof. intros H. apply map_ext_in. intros i Hi. apply in_seq in Hi. apply H. lia. Qed.
Lemma tabulate_coord d x : length x = d -> tabulate d (coord x) = x.
Proof. intros H. apply (token_ext d); auto using tabulate_length. intros. now apply coord_tabulate. Qed.
Lemma coord_scale a x i : coord (map (Rmult a) x) i = a * coord x i.
Proof. unfold coord. rewrite <- (Rmult_0_r a) at 1. apply map_nth. Qed.
Lemma dot_ext d x x' y y' : (forall i, (i < d)%nat -> coord x i = coord x' i) ->
  (forall i, (i < d)%nat -> coord y i = coord y' i) -> dot d x y = dot d x' y'.
Proof. intros H1 H2. apply sum_upto_ext. intros. now rewrite H1, H2. Qed.

(* ---- vectors of numbers ---- *)
Section Vectors.
Variable F : numbers.
Notation vector := (list F).
Definition zero : F := of_Q 0.
Definition one : F := of_Q 1.
Definition half : F := of_Q (1 # 2).
Definition sub (a b : F) := add a (opp b).
Definition eqb (a b : F) := leb a b && leb b a.
Definition is_zero (a : F) := eqb a zero.
Definition real (x : vector) : token := map phi x.
Fixpoint sum {A} (f : A -> F) (l : list A) : F := match l with [] => zero | a :: l => add (f a) (sum f l) end.
Fixpoint lazy_product (x y : vector) : F :=
  match x, y with a :: x, b :: y => lazy_add (lazy_mul a b) (lazy_product x y) | _, _ => zero end.
Definition product (x y : vector) : F := reduce (lazy_product x y).
Fixpoint zip (f : F -> F -> F) (x y : vector) : vector := match x, y with a :: x, b :: y => f a b :: zip f x y | _, _ => [] end.
Definition entry (x : vector) i := nth i x zero.
Definition is_zero_vector (x : vector) := forallb is_zero x.
Fixpoint equal_vectors (x y : vector) := match x, y with [], [] => true | a :: x, b :: y => eqb a b && equal_vectors x y | _, _ => false end.

Lemma phi_zero : phi zero = 0.
Proof. unfold zero. now rewrite phi_of_Q, Q2R_0. Qed.
Lemma phi_one : phi one = 1.
Proof. unfold one. now rewrite phi_of_Q, Q2R_1. Qed.
Lemma phi_half : phi half = / 2.
Proof. unfold half. rewrite phi_of_Q. unfold Q2R; simpl; lra. Qed.
Lemma phi_sub a b : phi (sub a b) = phi a - phi b.
Proof. unfold sub. rewrite phi_add, phi_opp. lra. Qed.
Lemma phi_eqb a b : eqb a b = true <-> phi a = phi b.
Proof. unfold eqb. rewrite andb_true_iff, !phi_leb. lra. Qed.
Lemma phi_is_zero a : is_zero a = true <-> phi a = 0.
Proof. unfold is_zero. now rewrite phi_eqb, phi_zero. Qed.
Lemma leb_false a b : leb a b = false -> phi b < phi (a : F).
Proof. intros H. destruct (Rlt_le_dec (phi b) (phi a)); auto. apply phi_leb in r. congruence. Qed.
Lemma phi_sum A (f : A -> F) l : phi (sum f l) = sum_over (fun a => phi (f a)) l.
Proof. induction l; simpl; [apply phi_zero|]. rewrite phi_add; congruence. Qed.
Lemma coord_real x i : coord (real x) i = phi (entry x i).
Proof. unfold coord, real, entry. rewrite <- phi_zero. apply map_nth. Qed.
Lemma coord_nil i : coord [] i = 0.
Proof. now destruct i. Qed.
Lemma phi_product d x y : (length x <= d)%nat -> phi (product x y) = dot d (real x) (real y).
Proof.
  unfold product. rewrite phi_reduce.
  revert x y; induction d; intros x y H; unfold dot in *.
  - destruct x; simpl in H; [|lia]. simpl; apply phi_zero.
  - rewrite sum_upto_S. destruct x as [|a x].
    + simpl lazy_product. rewrite phi_zero. rewrite (sum_upto_ext _ _ (fun _ => 0)). rewrite sum_upto_0; unfold coord; simpl; lra.
      intros. unfold coord; simpl; lra.
    + destruct y as [|b y].
      * simpl lazy_product. rewrite phi_zero. rewrite (sum_upto_ext _ _ (fun _ => 0)). rewrite sum_upto_0; unfold coord; simpl; lra.
        intros. unfold coord; simpl; lra.
      * simpl lazy_product. rewrite phi_lazy_add, phi_lazy_mul, IHd by (simpl in H; lia). reflexivity.
Qed.
Lemma phi_product_nil y : phi (product [] y) = 0.
Proof. unfold product. rewrite phi_reduce. apply phi_zero. Qed.
Lemma phi_product_cons a x b y : phi (product (a :: x) (b :: y)) = phi a * phi b + phi (product x y).
Proof. unfold product. rewrite !phi_reduce. simpl. now rewrite phi_lazy_add, phi_lazy_mul. Qed.
Lemma real_of_Q l : real (map of_Q l) = map Q2R l.
Proof. unfold real. rewrite map_map. apply map_ext. apply phi_of_Q. Qed.
Lemma zip_length f x y n : length x = n -> length y = n -> length (zip f x y) = n.
Proof. revert y n; induction x; destruct y; simpl; intros n H1 H2; subst; try discriminate; auto. Qed.
Lemma entry_zip f x y i n : length x = n -> length y = n -> (i < n)%nat -> entry (zip f x y) i = f (entry x i) (entry y i).
Proof. revert y n i; induction x; destruct y; simpl; intros n i H1 H2 Hi; subst; try discriminate; try lia.
  destruct i; auto. unfold entry in *; simpl. apply (IHx y (length x)); auto. lia. Qed.
Lemma entry_map g x i n : length x = n -> (i < n)%nat -> entry (map g x) i = g (entry x i).
Proof. intros H Hi. unfold entry. rewrite (nth_indep _ zero (g zero)); [apply map_nth|]. rewrite map_length; lia. Qed.
Lemma real_equal x y : equal_vectors x y = true -> real x = real y.
Proof. revert y; induction x; destruct y; simpl; intros H; try discriminate; auto.
  apply andb_true_iff in H as [H1 H2]. apply phi_eqb in H1. rewrite (IHx y) by auto. now rewrite H1. Qed.
Lemma real_equal_iff x y : equal_vectors x y = true <-> real x = real y.
Proof. split; [apply real_equal|]. revert y; induction x; destruct y; simpl; intros H; try discriminate; auto.
  injection H as H1 H2. apply andb_true_iff; split; [now apply phi_eqb|auto]. Qed.
Lemma zero_vector_entry x i : is_zero_vector x = true -> phi (entry x i) = 0.
Proof. intros H. unfold is_zero_vector in H. rewrite forallb_forall in H. unfold entry.
  destruct (nth_in_or_default i x zero) as [Hin| ->]; [|apply phi_zero]. now apply phi_is_zero, H. Qed.
End Vectors.
Arguments zero {F}. Arguments one {F}. Arguments half {F}. Arguments sub {F}. Arguments eqb {F}. Arguments is_zero {F}.
Arguments real {F}. Arguments sum {F A}. Arguments product {F}. Arguments zip {F}. Arguments entry {F}.
Arguments is_zero_vector {F}. Arguments equal_vectors {F}.
