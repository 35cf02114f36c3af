(* Rationals of the Bignums library: faster on long numbers than NumbersStandard.v, at the price of the axioms that
   describe the 63-bit integers built into Coq's kernel. *)
From Coq Require Import QArith Qreals Reals Lra Lia ZArith.
From Bignums Require Import BigN BigZ BigQ.
From Interp Require Import Semantics Numbers.

Definition value (q : bigQ) : R := Q2R (BigQ.to_Q q).
Definition numerator (q : bigQ) : bigZ := match q with BigQ.Qz n => n | BigQ.Qq n _ => n end.
Definition denominator (q : bigQ) : bigN := match q with BigQ.Qz _ => BigN.one | BigQ.Qq _ m => m end.
Definition big_leb (a b : bigQ) : bool := match BigQ.compare a b with Gt => false | _ => true end.
Definition big_abs (q : bigQ) : bigQ :=
  match q with BigQ.Qz n => BigQ.Qz (BigZ.abs n) | BigQ.Qq n m => BigQ.Qq (BigZ.abs n) m end.
Definition big_floor (q : bigQ) : N := BigN.to_N (BigZ.to_N (BigZ.div (numerator q) (BigZ.Pos (denominator q)))).

Lemma value_abs a : value (big_abs a) = Rabs (value a).
Proof.
  unfold value. rewrite <- Q2R_abs. apply Qeq_eqR. destruct a as [n|n m]; cbn [big_abs BigQ.to_Q].
  - rewrite BigZ.spec_abs. reflexivity.
  - destruct (BigN.eqb m BigN.zero) eqn:E; [reflexivity|].
    rewrite BigZ.spec_abs. reflexivity.
Qed.
Lemma value_of_Q q : value (BigQ.of_Q q) = Q2R q.
Proof. apply Qeq_eqR, BigQ.spec_of_Q. Qed.
Lemma value_opp a : value (BigQ.opp a) = (- value a)%R.
Proof. unfold value. rewrite <- Q2R_opp. apply Qeq_eqR, BigQ.spec_opp. Qed.
Lemma value_leb a b : big_leb a b = true <-> (value a <= value b)%R.
Proof.
  unfold big_leb, value. rewrite BigQ.spec_compare.
  destruct (Qcompare_spec (BigQ.to_Q a) (BigQ.to_Q b)) as [H|H|H]; split; intros; try congruence.
  - apply Qle_Rle. rewrite H. apply Qle_refl.
  - apply Qle_Rle, Qlt_le_weak, H.
  - apply Qlt_Rlt in H. lra.
Qed.

(* Fractions over the same denominator are added without reducing. *)
Definition plain_add (a b : bigQ) : bigQ := match a, b with
  | BigQ.Qq n1 m1, BigQ.Qq n2 m2 => if BigN.eqb m1 m2 then BigQ.Qq (BigZ.add n1 n2) m1 else BigQ.add_norm a b
  | _, _ => BigQ.add a b end.
Lemma value_plain_add a b : value (plain_add a b) = (value a + value b)%R.
Proof.
  assert (N : value (BigQ.add_norm a b) = (value a + value b)%R)
    by (unfold value; rewrite <- Q2R_plus; apply Qeq_eqR, BigQ.spec_add_norm).
  assert (P : value (BigQ.add a b) = (value a + value b)%R)
    by (unfold value; rewrite <- Q2R_plus; apply Qeq_eqR, BigQ.spec_add).
  unfold plain_add. destruct a as [n1|n1 m1], b as [n2|n2 m2]; auto. destruct (BigN.eqb m1 m2) eqn:E; auto.
  apply BigN.eqb_eq in E. unfold value. rewrite <- Q2R_plus. apply Qeq_eqR. cbn [BigQ.to_Q].
  destruct (BigN.eqb m1 BigN.zero) eqn:Z1, (BigN.eqb m2 BigN.zero) eqn:Z2; try reflexivity;
    rewrite BigN.spec_eqb in *; unfold BigN.eq in E; try congruence.
  unfold Qeq, Qplus; cbn [Qnum Qden]. rewrite E, BigZ.spec_add, Pos2Z.inj_mul. ring.
Qed.
Lemma value_mul a b : value (BigQ.mul a b) = (value a * value b)%R.
Proof. unfold value. rewrite <- Q2R_mult. apply Qeq_eqR, BigQ.spec_mul. Qed.
Lemma value_red a : value (BigQ.red a) = value a.
Proof. apply Qeq_eqR, BigQ.strong_spec_red || apply Qeq_eqR, BigQ.spec_red. Qed.

Definition bignum_numbers : numbers.
refine (Numbers bigQ BigQ.of_Q BigQ.add_norm BigQ.mul_norm BigQ.opp big_abs big_leb
  plain_add BigQ.mul BigQ.red big_floor BigQ.div_norm (fun a => a) value value_of_Q _ _
  value_plain_add value_mul value_red value_opp value_abs value_leb); unfold value; intros.
- rewrite <- Q2R_plus. apply Qeq_eqR, BigQ.spec_add_norm.
- rewrite <- Q2R_mult. apply Qeq_eqR, BigQ.spec_mul_norm.
Defined.

(* ---- for boxes ---- Radii have long power-of-two denominators: sums and products with those are taken without
   reducing, and radii are rounded up to 30 significant bits. *)
Definition long_denominator : bigN := Eval vm_compute in BigN.of_N (2 ^ 200).
Definition is_long (q : bigQ) : bool := BigN.leb long_denominator (denominator q).
Definition is_big_zero (q : bigQ) : bool := BigZ.eqb (numerator q) BigZ.zero.
Definition big_zero : bigQ := BigQ.Qz BigZ.zero.
Definition short_add (a b : bigQ) : bigQ :=
  if is_big_zero a then b else if is_big_zero b then a else
  if (is_long a || is_long b)%bool then BigQ.add a b else BigQ.add_norm a b.
Definition short_mul (a b : bigQ) : bigQ :=
  if is_big_zero a then big_zero else if is_big_zero b then big_zero else
  if (is_long a || is_long b)%bool then BigQ.mul a b else BigQ.mul_norm a b.
Definition dyadic_above (q : bigQ) : bigQ :=
  let n := numerator q in let m := BigZ.Pos (denominator q) in
  if BigZ.eqb n BigZ.zero then big_zero else
  let e := (BigZ.log2 (BigZ.abs n) - BigZ.log2 m - 30)%bigZ in
  if (0 <=? e)%bigZ then BigQ.Qz (BigZ.shiftl (- ((- n) / (BigZ.shiftl m e))) e)%bigZ
  else BigQ.Qq (- ((BigZ.shiftl (- n) (- e)) / m))%bigZ (BigZ.to_N (BigZ.shiftl 1 (- e))%bigZ).

Lemma value_zero a : is_big_zero a = true -> value a = 0%R.
Proof.
  intros H. unfold value. rewrite <- (Qeq_eqR 0 (BigQ.to_Q a)); [apply Q2R_0|]. unfold is_big_zero in H.
  destruct a; cbn [numerator BigQ.to_Q] in *; apply BigZ.eqb_eq in H.
  - rewrite H. reflexivity.
  - destruct (BigN.eqb _ _); [reflexivity|]. rewrite H. reflexivity.
Qed.
Lemma value_big_zero : value big_zero = 0%R.
Proof. now apply value_zero. Qed.

Lemma value_short_add a b : value (short_add a b) = (value a + value b)%R.
Proof.
  unfold short_add.
  destruct (is_big_zero a) eqn:E1; [rewrite (value_zero a E1); lra|].
  destruct (is_big_zero b) eqn:E2; [rewrite (value_zero b E2); lra|].
  unfold value. rewrite <- Q2R_plus. apply Qeq_eqR. destruct (orb _ _); [apply BigQ.spec_add|apply BigQ.spec_add_norm].
Qed.
Lemma value_short_mul a b : value (short_mul a b) = (value a * value b)%R.
Proof.
  unfold short_mul.
  destruct (is_big_zero a) eqn:E1; [rewrite (value_zero a E1), value_big_zero; lra|].
  destruct (is_big_zero b) eqn:E2; [rewrite (value_zero b E2), value_big_zero; lra|].
  unfold value. rewrite <- Q2R_mult. apply Qeq_eqR. destruct (orb _ _); [apply BigQ.spec_mul|apply BigQ.spec_mul_norm].
Qed.
Definition bignum_box_numbers : numbers := Numbers bigQ BigQ.of_Q short_add short_mul BigQ.opp big_abs big_leb
  short_add short_mul (fun a => a) big_floor BigQ.div dyadic_above value value_of_Q value_short_add value_short_mul
  value_short_add value_short_mul (fun a => eq_refl) value_opp value_abs value_leb.
