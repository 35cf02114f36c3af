(* Rationals of the standard library, kept in lowest terms: certificates that use them rest on no axioms but those
   of the reals. *)
From Coq Require Import QArith Qabs Qreals Qround Reals ZArith Lra.
From Interp Require Import Semantics Numbers.

Definition dyadic_above (q : Q) : Q :=          (* a dyadic with 30 significant bits *)
  let n := Qnum q in let m := Zpos (Qden q) in
  let e := (Z.log2 (Z.abs n) - Z.log2 m - 30)%Z in
  if (0 <=? e)%Z then inject_Z (Z.shiftl (- ((- n) / Z.shiftl m e)) e)
  else Qmake (- (Z.shiftl (- n) (- e) / m))%Z (Z.to_pos (Z.shiftl 1 (- e))).
Definition same_denominator_add (a b : Q) : Q :=               (* without reducing where that is easy *)
  match Qden a, Qden b with
  | xH, m => Qmake (Qnum a * Zpos m + Qnum b) m
  | m, xH => Qmake (Qnum a + Qnum b * Zpos m) m
  | m, m' => if Pos.eqb m m' then Qmake (Qnum a + Qnum b) m else Qred (a + b) end.
Definition short_mul (a b : Q) : Q :=
  match Qnum a, Qnum b with Z0, _ | _, Z0 => 0 | _, _ => Qred (a * b) end.
(* For boxes: a denominator that is the other one times a power of two serves both, without reducing. *)
Definition doubled (m m' : positive) : option Z :=            (* k with m' = 2^k m *)
  let k := (Z.log2 (Zpos m') - Z.log2 (Zpos m))%Z in
  if (0 <=? k)%Z && Z.eqb (Z.shiftl (Zpos m) k) (Zpos m') then Some k else None.
Definition dyadic_add (a b : Q) : Q :=
  match Qnum a, Qnum b with
  | Z0, _ => b
  | _, Z0 => a
  | n, n' => match doubled (Qden a) (Qden b) with
      | Some k => Qmake (Z.shiftl n k + n') (Qden b)
      | None => match doubled (Qden b) (Qden a) with
          | Some k => Qmake (n + Z.shiftl n' k) (Qden a)
          | None => Qred (a + b) end end end.
Definition dyadic_mul (a b : Q) : Q := match Qnum a, Qnum b with
  | Z0, _ | _, Z0 => 0
  | _, _ => if (Pos.size_nat (Qden a) + Pos.size_nat (Qden b) <=? 200)%nat then Qred (a * b) else a * b end.

Lemma Q2R_red q : Q2R (Qred q) = Q2R q.
Proof. apply Qeq_eqR, Qred_correct. Qed.
Lemma Q2R_sum n n' m : Q2R (Qmake (n + n') m) = (Q2R (Qmake n m) + Q2R (Qmake n' m))%R.
Proof. unfold Q2R. cbn [Qnum Qden]. rewrite plus_IZR. ring. Qed.
Lemma Q2R_whole n m : Q2R (Qmake (n * Zpos m) m) = Q2R (Qmake n 1).
Proof. apply Qeq_eqR. unfold Qeq. cbn [Qnum Qden]. ring. Qed.
Lemma Q2R_same_denominator a b : Q2R (same_denominator_add a b) = (Q2R a + Q2R b)%R.
Proof.
  destruct a as [n m], b as [n' m']. unfold same_denominator_add. cbn [Qnum Qden].
  assert (G : Q2R (if Pos.eqb m m' then Qmake (n + n') m else Qred (Qmake n m + Qmake n' m')) = (Q2R (Qmake n m) + Q2R (Qmake n' m'))%R).
  { destruct (Pos.eqb_spec m m') as [->|_]; [apply Q2R_sum|now rewrite Q2R_red, Q2R_plus]. }
  destruct m as [p|p|]; [destruct m' as [q|q|]; auto; now rewrite Q2R_sum, Q2R_whole..|now rewrite Q2R_sum, Q2R_whole].
Qed.
Lemma Q2R_zero_numerator q : Qnum q = Z0 -> Q2R q = 0%R.
Proof. intros H. unfold Q2R. rewrite H. ring. Qed.
Lemma Q2R_short_mul a b : Q2R (short_mul a b) = (Q2R a * Q2R b)%R.
Proof.
  unfold short_mul. destruct (Qnum a) eqn:A; [rewrite (Q2R_zero_numerator a A), Q2R_0; ring| |];
  (destruct (Qnum b) eqn:B; [rewrite (Q2R_zero_numerator b B), Q2R_0; ring| |]; now rewrite Q2R_red, Q2R_mult).
Qed.
Lemma Q2R_shift n k m m' : doubled m m' = Some k -> Q2R (Qmake (Z.shiftl n k) m') = Q2R (Qmake n m).
Proof.
  unfold doubled. destruct (andb _ _) eqn:E; [|discriminate]. intros H. injection H as <-.
  apply andb_true_iff in E as [E1 E2]. apply Z.leb_le in E1. apply Z.eqb_eq in E2. set (k := (_ - _)%Z) in *. clearbody k.
  apply Qeq_eqR. unfold Qeq. cbn [Qnum Qden]. rewrite <- E2, !Z.shiftl_mul_pow2 by auto. ring.
Qed.
Lemma Q2R_dyadic_add a b : Q2R (dyadic_add a b) = (Q2R a + Q2R b)%R.
Proof.
  assert (G : forall a b, Q2R (match doubled (Qden a) (Qden b) with
      | Some k => Qmake (Z.shiftl (Qnum a) k + Qnum b) (Qden b)
      | None => match doubled (Qden b) (Qden a) with
          | Some k => Qmake (Qnum a + Z.shiftl (Qnum b) k) (Qden a)
          | None => Qred (a + b) end end) = (Q2R a + Q2R b)%R).
  { clear. intros [n m] [n' m']. cbn [Qnum Qden].
    destruct (doubled m m') as [k|] eqn:E; [now rewrite Q2R_sum, (Q2R_shift n k m m' E)|].
    destruct (doubled m' m) as [k|] eqn:E'; [now rewrite Q2R_sum, (Q2R_shift n' k m' m E')|].
    now rewrite Q2R_red, Q2R_plus. }
  unfold dyadic_add. specialize (G a b).
  destruct (Qnum a) eqn:A; [rewrite (Q2R_zero_numerator a A); ring| |];
  (destruct (Qnum b) eqn:B; [rewrite (Q2R_zero_numerator b B); ring| |]; exact G).
Qed.
Lemma Q2R_dyadic_mul a b : Q2R (dyadic_mul a b) = (Q2R a * Q2R b)%R.
Proof.
  unfold dyadic_mul. destruct (Qnum a) eqn:A; [rewrite (Q2R_zero_numerator a A), Q2R_0; ring| |];
  (destruct (Qnum b) eqn:B; [rewrite (Q2R_zero_numerator b B), Q2R_0; ring| |];
   destruct (Nat.leb _ _); now rewrite ?Q2R_red, Q2R_mult).
Qed.
Lemma Q2R_leb a b : Qle_bool a b = true <-> (Q2R a <= Q2R b)%R.
Proof. rewrite Qle_bool_iff. split; [apply Qle_Rle|apply Rle_Qle]. Qed.

Definition standard_numbers : numbers.
refine (Numbers Q Qred (fun a b => Qred (a + b)) short_mul Qopp Qabs Qle_bool
  same_denominator_add Qmult (fun a => a) (fun q => Z.to_N (Qfloor q)) (fun a b => Qred (a / b)) dyadic_above
  Q2R Q2R_red _ Q2R_short_mul Q2R_same_denominator Q2R_mult (fun a => eq_refl) Q2R_opp Q2R_abs Q2R_leb).
intros. now rewrite Q2R_red, Q2R_plus.
Defined.
Definition standard_box_numbers : numbers := Numbers Q Qred dyadic_add dyadic_mul Qopp Qabs Qle_bool
  dyadic_add dyadic_mul (fun a => a) (fun q => Z.to_N (Qfloor q)) Qdiv dyadic_above
  Q2R Q2R_red Q2R_dyadic_add Q2R_dyadic_mul Q2R_dyadic_add Q2R_dyadic_mul (fun a => eq_refl) Q2R_opp Q2R_abs Q2R_leb.
