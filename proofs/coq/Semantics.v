(* The statement: what a certificate claims. This file, the numbers in the certificate and its last theorem
   are all that has to be read to know what has been proved; the other files are only about the proof.

   d     dimension           X, Y  sequences, as lists of tokens
   tau   temperature         T     transformer, a list of blocks
   S     type of the scalars: Q in a certificate, R where real numbers are computed with *)
From Coq Require Import List QArith Qreals Reals.
Import ListNotations.
Local Open Scope R_scope.

(* ---- data and weights ---- *)

Definition pairs (S : Type) := list (list (list S) * list (list S)).   (* the pairs (X_j, Y_j) *)

(* One ReLU unit: x |-> out relu(<in, x> + bias), out a column of W, in a row of U. *)
Record neuron (S : Type) := Neuron { out_weights : list S; in_weights : list S; bias : S }.
(* The d x d matrix scale I + sum of left right^T over the listed pairs (left, right). *)
Record square (S : Type) := Square { scale : S; outers : list (list S * list S) }.
Record block (S : Type) := Block {
  eta : S; neurons : list (neuron S);                                   (* feed-forward layer *)
  rho : S; score_matrix : square S; value_matrix : square S }.          (* self-attention layer *)
Definition transformer (S : Type) := list (block S).

Arguments Neuron {S}. Arguments out_weights {S}. Arguments in_weights {S}. Arguments bias {S}.
Arguments Square {S}. Arguments scale {S}. Arguments outers {S}.
Arguments Block {S}. Arguments eta {S}. Arguments neurons {S}. Arguments rho {S}.
Arguments score_matrix {S}. Arguments value_matrix {S}.

(* ---- real tokens ---- *)

Definition token := list R.
Definition coord (x : token) (i : nat) : R := nth i x 0.
Definition tabulate (d : nat) (f : nat -> R) : token := map f (seq 0 d).    (* (f 0, .., f (d - 1)) *)
Fixpoint sum_upto (n : nat) (f : nat -> R) : R := match n with O => 0 | S m => sum_upto m f + f m end.
Fixpoint sum_over {A : Type} (f : A -> R) (l : list A) : R := match l with [] => 0 | a :: m => f a + sum_over f m end.
Definition dot (d : nat) (x y : token) : R := sum_upto d (fun i => coord x i * coord y i).
Definition relu (t : R) : R := Rmax t 0.

(* ---- forward pass, over the reals ---- *)

Section Forward.
Variable d : nat.

(* eta x + W relu(U x + b) *)
Definition feed_forward (B : block R) (x : token) : token := tabulate d (fun i =>
  eta B * coord x i
  + sum_over (fun n => coord (out_weights n) i * relu (dot d (in_weights n) x + bias n)) (neurons B)).

Definition apply_square (M : square R) (x : token) : token := tabulate d (fun i =>
  scale M * coord x i + sum_over (fun lr => coord (fst lr) i * dot d (snd lr) x) (outers M)).

(* <A x, z> *)
Definition score (B : block R) (x z : token) : R := dot d (apply_square (score_matrix B) x) z.

(* The mean of the tokens z with weights proportional to exp(score / tau). *)
Definition soft_mean (tau : R) (B : block R) (X : list token) (x : token) : token := tabulate d (fun i =>
  sum_over (fun z => exp (score B x z / tau) * coord z i) X / sum_over (fun z => exp (score B x z / tau)) X).

(* The mean of the tokens of largest score: ties average. *)
Definition is_best (B : block R) (X : list token) (x z : token) : bool :=
  forallb (fun z' => if Rle_dec (score B x z') (score B x z) then true else false) X.
Definition hard_mean (B : block R) (X : list token) (x : token) : token :=
  let best := filter (is_best B X x) X in
  tabulate d (fun i => sum_over (fun z => coord z i) best / INR (length best)).

(* Temperature 0 is hardmax, tau > 0 is softmax. *)
Definition attended (tau : R) (B : block R) (X : list token) (x : token) : token :=
  if Req_EM_T tau 0 then hard_mean B X x else soft_mean tau B X x.

(* rho x + V (attended mean), for every token of the sequence *)
Definition self_attention (tau : R) (B : block R) (X : list token) : list token :=
  map (fun x => let y := apply_square (value_matrix B) (attended tau B X x) in
                tabulate d (fun i => rho B * coord x i + coord y i)) X.

Definition run_block (tau : R) (B : block R) (X : list token) : list token :=
  self_attention tau B (map (feed_forward B) X).
Definition run (tau : R) (T : transformer R) (X : list token) : list token :=
  fold_left (fun Z B => run_block tau B Z) T X.

(* T(X_j) and Y_j are the same set of tokens, for every j. *)
Definition interpolates (tau : R) (T : transformer R) (data : pairs R) : Prop :=
  forall X Y, In (X, Y) data -> forall z, In z (run tau T X) <-> In z Y.

End Forward.

(* ---- shapes and sizes ---- *)

Section Shapes.
Context {S : Type}.
Variable d : nat.

Definition fits_neuron (n : neuron S) : Prop := length (out_weights n) = d /\ length (in_weights n) = d.
Definition fits_square (M : square S) : Prop := Forall (fun lr => length (fst lr) = d /\ length (snd lr) = d) (outers M).
Definition fits_block (B : block S) : Prop :=
  Forall fits_neuron (neurons B) /\ fits_square (score_matrix B) /\ fits_square (value_matrix B).
Definition fits_pair (p : list (list S) * list (list S)) : Prop :=
  fst p <> [] /\ snd p <> [] /\ Forall (fun x => length x = d) (fst p) /\ Forall (fun y => length y = d) (snd p).
Definition fits_data (data : pairs S) : Prop := data <> [] /\ Forall fits_pair data.

Definition count {A : Type} (l : list A) : N := N.of_nat (length l).
Definition width (B : block S) : N := count (neurons B).
(* Scalars of a matrix as stored: scale I, scale I + left right^T, or all entries. *)
Definition square_parameters (M : square S) : N :=
  match outers M with [] => 1 | [_] => 1 + 2 * N.of_nat d | _ => N.of_nat d * N.of_nat d end%N.
Definition block_parameters (B : block S) : N :=
  (2 + width B * (2 * N.of_nat d + 1) + square_parameters (score_matrix B) + square_parameters (value_matrix B))%N.
Definition parameters (T : transformer S) : N := fold_right (fun B n => (block_parameters B + n)%N) 0%N T.
End Shapes.

(* ---- rationals among the reals ---- *)

Section Convert.
Context {S S' : Type}.
Variable f : S -> S'.
Definition map_neuron (n : neuron S) : neuron S' :=
  Neuron (map f (out_weights n)) (map f (in_weights n)) (f (bias n)).
Definition map_square (M : square S) : square S' :=
  Square (f (scale M)) (map (fun lr => (map f (fst lr), map f (snd lr))) (outers M)).
Definition map_block (B : block S) : block S' :=
  Block (f (eta B)) (map map_neuron (neurons B)) (f (rho B)) (map_square (score_matrix B)) (map_square (value_matrix B)).
Definition map_data (data : pairs S) : pairs S' := map (fun p => (map (map f) (fst p), map (map f) (snd p))) data.
End Convert.

(* ---- the claim ---- *)

Record claim := Claim {
  dimension : nat; max_width : N; max_blocks : N; max_parameters : N;
  temperatures : R -> Prop }.

Definition certified (c : claim) (data : pairs Q) (T : transformer Q) : Prop :=
  let d := dimension c in
  (2 <= d)%nat /\ fits_data d data /\ Forall (fits_block d) T
  /\ Forall (fun B => (width B <= max_width c)%N) T
  /\ (count T <= max_blocks c)%N
  /\ (parameters d T <= max_parameters c)%N
  /\ forall tau, temperatures c tau -> interpolates d tau (map (map_block Q2R) T) (map_data Q2R data).

(* The hypotheses of the existence theorem, and N and M. *)
Definition same_set {A : Type} (X Y : list A) : Prop := forall z, In z X <-> In z Y.
Definition valid_pair {S : Type} (p : list (list S) * list (list S)) : Prop :=
  NoDup (fst p) /\ NoDup (snd p) /\ (length (snd p) <= length (fst p))%nat.
Definition valid_data {S : Type} (d : nat) (data : pairs S) : Prop :=
  (2 <= d)%nat /\ fits_data d data /\ Forall valid_pair data
  /\ ForallOrdPairs (fun p q => ~ same_set (fst p) (fst q)) data.
Definition num_targets {S : Type} (data : pairs S) : nat := fold_right (fun p n => (length (snd p) + n)%nat) O data.
