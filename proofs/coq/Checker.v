(* The checkers: programs that answer true or false. Soundness.v proves what true means.

   exact    every token is a vector of numbers; used for hardmax, and for uniform attention at every temperature
   boxes    every token is a centre and a radius per coordinate that hold for every temperature in (0, limit] *)
From Coq Require Import List QArith Bool NArith.
From Interp Require Import Semantics Numbers.
Import ListNotations.

Section Checker.
Variable F : numbers.
Notation vector := (list F).

(* ---- compiled feed-forward layers: units that share u and have parallel w are evaluated together ---- *)

Definition term := (vector * list (F * F))%type.      (* (w, [(k, b); ..]) stands for w sum_k k relu(s + b) *)
Definition group := (vector * list term)%type.        (* (u, terms), with s = <u, x> *)
Record compiled := Compiled { c_eta : F; groups : list group; c_rho : F; c_score : square F; c_value : square F }.

Fixpoint first_ratio (w w0 : vector) : F := match w, w0 with
  | a :: w, a0 :: w0 => if is_zero a0 then first_ratio w w0 else div a a0
  | _, _ => zero end.
(* k with w = k w0, if there is one *)
Definition ratio (w w0 : vector) : option F :=
  let k := first_ratio w w0 in if equal_vectors w (map (mul k) w0) then Some k else None.
Fixpoint add_term (w : vector) (b : F) (ts : list term) : list term := match ts with
  | [] => [(w, [(one, b)])]
  | (w0, kbs) :: ts => match ratio w w0 with
      | Some k => (w0, (k, b) :: kbs) :: ts
      | None => (w0, kbs) :: add_term w b ts end end.
Fixpoint add_unit (u w : vector) (b : F) (gs : list group) : list group := match gs with
  | [] => [(u, [(w, [(one, b)])])]
  | (u0, ts) :: gs => if equal_vectors u u0 then (u0, add_term w b ts) :: gs else (u0, ts) :: add_unit u w b gs end.
Definition compile (B : block F) : compiled := Compiled (eta B)
  (fold_right (fun n => add_unit (in_weights n) (out_weights n) (bias n)) [] (neurons B))
  (rho B) (score_matrix B) (value_matrix B).

(* ---- exact forward pass at temperature 0 ---- *)

Fixpoint amount (s : F) (kbs : list (F * F)) : F := match kbs with
  | [] => zero
  | (k, b) :: kbs => let t := lazy_add s b in if leb t zero then amount s kbs else lazy_add (lazy_mul k t) (amount s kbs) end.
(* The last inner product of a token, (u, <u, x>): runs of blocks often share u, and few tokens move. *)
Definition memo := option (vector * F).
Definition recall (m : memo) (u x : vector) : F := match m with
  | Some (u0, s) => if equal_vectors u u0 then s else product u x
  | None => product u x end.
Definition shifts (gs : list group) (m : memo) (x : vector) : list (vector * F) :=
  flat_map (fun g => let s := recall m (fst g) x in
    flat_map (fun t => let h := amount s (snd t) in if is_zero h then [] else [(fst t, h)]) (snd g)) gs.
Definition stretch (a : F) (x : vector) : vector := if eqb a one then x else map (mul a) x.
Definition move (x : vector) (wh : vector * F) : vector := zip (fun a w => add a (mul (snd wh) w)) x (fst wh).
Definition exact_feed_forward (B : compiled) (xm : vector * memo) : vector * memo :=
  let (x, m) := xm in
  match groups B with
  | [] => (stretch (c_eta B) x, None)
  | (u, ts) :: gs =>
      let m := Some (u, recall m u x) in
      match shifts ((u, ts) :: gs) m x with
      | [] => if eqb (c_eta B) one then (x, m) else (stretch (c_eta B) x, None)
      | whs => (fold_left move whs (stretch (c_eta B) x), None) end end.
Definition exact_square (M : square F) (x : vector) : vector :=
  fold_left move (map (fun lr => (fst lr, product (snd lr) x)) (outers M)) (stretch (scale M) x).
Definition is_zero_square (M : square F) : bool :=
  is_zero (scale M) && forallb (fun lr => is_zero_vector (fst lr) || is_zero_vector (snd lr)) (outers M).

(* score(x, z) = scale <x, z> + sum <right, x> <left, z>; the last products are computed once per token *)
Definition rights (M : square F) (x : vector) : vector := map (fun lr => product (snd lr) x) (outers M).
Definition lefts (M : square F) (z : vector) : vector := map (fun lr => product (fst lr) z) (outers M).
Definition exact_score (M : square F) (x rx : vector) (zl : vector * vector) : F :=
  let r := product rx (snd zl) in if is_zero (scale M) then r else add (mul (scale M) (product x (fst zl))) r.
Fixpoint largest (m : F) (l : list F) : F := match l with [] => m | a :: l => largest (if leb m a then a else m) l end.
Definition exact_best (M : square F) (ZL : list (vector * vector)) (x : vector) : list vector :=
  let rx := rights M x in
  let S := map (fun zl => (fst zl, exact_score M x rx zl)) ZL in
  match S with
  | [] => []
  | s :: S' => let m := largest (snd s) (map snd S') in map fst (filter (fun zs => leb m (snd zs)) S) end.
Definition inverse (n : nat) : F := of_Q (1 # Pos.of_nat n).
Definition exact_mean (Z : list vector) : vector := match Z with
  | [] => []
  | [z] => z
  | z :: Z' => map (mul (inverse (length Z))) (fold_left (zip add) Z' z) end.
Definition exact_attention (B : compiled) (X : list vector) : list vector :=
  if is_zero_square (c_value B) then map (stretch (c_rho B)) X
  else if is_zero_square (c_score B) then
    let y := exact_square (c_value B) (exact_mean X) in map (fun x => zip add (stretch (c_rho B) x) y) X
  else let ZL := map (fun z => (z, lefts (c_score B) z)) X in
    map (fun x => zip add (stretch (c_rho B) x) (exact_square (c_value B) (exact_mean (exact_best (c_score B) ZL x)))) X.
Definition forget (x : vector) : vector * memo := (x, None).
Definition exact_block (B : compiled) (X : list (vector * memo)) : list (vector * memo) :=
  let Z := map (exact_feed_forward B) X in
  if is_zero_square (c_value B) && eqb (c_rho B) one then Z
  else map forget (exact_attention B (map fst Z)).
Definition exact_run (T : list compiled) (X : list vector) : list vector :=
  map fst (fold_left (fun Z B => exact_block B Z) T (map forget X)).

Definition same_tokens (X Y : list vector) : bool :=
  forallb (fun x => existsb (equal_vectors x) Y) X && forallb (fun y => existsb (fun x => equal_vectors x y) X) Y.
Definition compile_all (T : transformer Q) : list compiled := map (fun B => compile (map_block of_Q B)) T.
Definition exact_check (T : transformer Q) (data : pairs Q) : bool :=
  let C := compile_all T in
  forallb (fun p => same_tokens (exact_run C (fst p)) (snd p)) (map_data of_Q data).

(* Every attention layer has A = 0 or V = 0. *)
Definition is_uniform (B : block Q) : bool :=
  let B := map_block (of_Q (n := F)) B in is_zero_square (score_matrix B) || is_zero_square (value_matrix B).

(* ---- boxes ---- *)

Definition box := (vector * vector)%type.               (* centre, radius *)

Definition raise (a : F) : F := let b := round_up a in if leb a b then b else a.
Fixpoint half_power_pos (p : positive) : F := match p with
  | xH => half
  | xO p => let t := half_power_pos p in mul t t
  | xI p => let t := half_power_pos p in mul half (mul t t) end.
Definition half_power (k : N) : F := match k with N0 => one | Npos p => half_power_pos p end.
Definition of_N (k : N) : F := of_Q (inject_Z (Z.of_N k)).
Fixpoint map_option {A B} (f : A -> option B) (l : list A) : option (list B) := match l with
  | [] => Some []
  | a :: l => match f a with None => None | Some b =>
      match map_option f l with None => None | Some m => Some (b :: m) end end end.
Definition box_product (u : vector) (b : box) : F * F := (product u (fst b), product (map abs u) (snd b)).

(* sum of k relu(s + b) = h + slope (s - m) for |s - m| <= r, when every sign is certain *)
Fixpoint box_amount (m r : F) (kbs : list (F * F)) : option (F * F) := match kbs with
  | [] => Some (zero, zero)
  | (k, b) :: kbs => match box_amount m r kbs with None => None | Some (h, slope) =>
      let t := add m b in
      if leb r t then Some (add (mul k t) h, add k slope)
      else if leb (add t r) zero then Some (h, slope) else None end end.
Definition piece := (vector * vector * (F * F))%type.    (* w, u, (h, slope) *)
Definition box_pieces (gs : list group) (b : box) : option (list piece) :=
  match map_option (fun g => let mr := box_product (fst g) b in
      map_option (fun t => match box_amount (fst mr) (snd mr) (snd t) with
        None => None | Some a => Some (fst t, fst g, a) end) (snd g)) gs with
  | None => None | Some l => Some (concat l) end.

(* radius of (a I + sum slope w u^T) v for |v| <= r *)
Definition linear_radius (a : F) (ps : list (vector * vector * F)) (r : vector) : vector :=
  if is_zero_vector r then r else
  match filter (fun p => negb (is_zero (snd p))) ps with
  | [] => map (fun c => raise (mul (abs a) c)) r
  | ps => map (fun i => raise (sum (fun k => let rk := entry r k in if is_zero rk then zero else
      mul (abs (add (if Nat.eqb k i then a else zero)
                    (sum (fun p => mul (snd p) (mul (entry (fst (fst p)) i) (entry (snd (fst p)) k))) ps))) rk)
      (seq 0 (length r)))) (seq 0 (length r)) end.
Definition box_feed_forward (B : compiled) (b : box) : option box := match box_pieces (groups B) b with
  | None => None
  | Some ps => Some (
      fold_left move (filter (fun wh => negb (is_zero (snd wh))) (map (fun p => (fst (fst p), fst (snd p))) ps))
        (stretch (c_eta B) (fst b)),
      linear_radius (c_eta B) (map (fun p => (fst p, snd (snd p))) ps) (snd b)) end.
Definition box_square (M : square F) (b : box) : box :=
  (exact_square M (fst b), linear_radius (scale M) (map (fun lr => (lr, one)) (outers M)) (snd b)).

Definition times (q p : F * F) : F * F :=
  (mul (fst q) (fst p), add (add (mul (abs (fst q)) (snd p)) (mul (abs (fst p)) (snd q))) (mul (snd q) (snd p))).
Fixpoint box_products (q p : list (F * F)) : F * F := match q, p with
  | a :: q, b :: p => let t := times a b in let s := box_products q p in (add (fst t) (fst s), add (snd t) (snd s))
  | _, _ => (zero, zero) end.
Definition box_rights (M : square F) (b : box) := map (fun lr => box_product (snd lr) b) (outers M).
Definition box_lefts (M : square F) (b : box) := map (fun lr => box_product (fst lr) b) (outers M).
Definition box_score (M : square F) (x : box) (rx : list (F * F)) (zl : box * list (F * F)) : F * F :=
  let s := box_products rx (snd zl) in
  if is_zero (scale M) then s else
  let z := fst zl in
  (add (mul (scale M) (product (fst x) (fst z))) (fst s),
   add (mul (abs (scale M)) (add (add (product (map abs (fst x)) (snd z)) (product (map abs (fst z)) (snd x)))
                                 (product (snd x) (snd z)))) (snd s)).

Variable limit : F.         (* temperatures 0 < tau <= limit *)
Variable cap : N.           (* weights below 2^-cap count as 2^-cap *)
Fixpoint best_index (l : list (box * (F * F))) (i best : nat) (m : F) : nat := match l with
  | [] => best
  | (_, (c, _)) :: l => if leb c m then best_index l (S i) best m else best_index l (S i) i c end.
(* the weight of a token is at most 2^-k times that of the best one, where k limit <= gap of the scores *)
Definition weight_bound (best : F * F) (o : box * (F * F)) : option (box * F) :=
  let gap := sub (sub (fst best) (snd best)) (add (fst (snd o)) (snd (snd o))) in
  let k := N.min cap (floor (div gap limit)) in
  if leb (mul (of_N k) limit) gap then Some (fst o, half_power k) else None.
Definition spread (b : box) (others : list (box * F)) (i : nat) : F := sum (fun o =>
  mul (snd o) (add (abs (sub (entry (fst (fst o)) i) (entry (fst b) i))) (add (entry (snd (fst o)) i) (entry (snd b) i)))) others.
Definition box_attended (M : square F) (ZL : list (box * list (F * F))) (x : box) : option box :=
  let rx := box_rights M x in
  let S := map (fun zl => (fst zl, box_score M x rx zl)) ZL in
  let k := match S with [] => O | (_, (c, _)) :: l => best_index l 1 0 c end in
  match skipn k S with
  | [] => None
  | (b, s) :: post => match map_option (weight_bound s) (firstn k S ++ post) with
      | None => None
      | Some others => Some (fst b,
          map (fun i => add (entry (snd b) i) (spread b others i)) (seq 0 (length (fst b)))) end end.
Definition sum_boxes (b : box) (y : box) : box := (zip add (fst b) (fst y), zip (fun r s => raise (add r s)) (snd b) (snd y)).
Definition stretch_box (a : F) (b : box) : box := (stretch a (fst b), linear_radius a [] (snd b)).
Definition box_mean (X : list box) : box := (exact_mean (map fst X), exact_mean (map snd X)).
Definition box_attention (B : compiled) (X : list box) : option (list box) :=
  if is_zero_square (c_value B) then Some (map (stretch_box (c_rho B)) X)
  else if is_zero_square (c_score B) then
    let y := box_square (c_value B) (box_mean X) in Some (map (fun x => sum_boxes (stretch_box (c_rho B) x) y) X)
  else let ZL := map (fun z => (z, box_lefts (c_score B) z)) X in
    map_option (fun x => match box_attended (c_score B) ZL x with
      | None => None
      | Some a => Some (sum_boxes (stretch_box (c_rho B) x) (box_square (c_value B) a)) end) X.
Definition box_block (B : compiled) (X : list box) : option (list box) :=
  match map_option (box_feed_forward B) X with None => None | Some Z => box_attention B Z end.
Fixpoint box_run (T : list compiled) (X : list box) : option (list box) := match T with
  | [] => Some X
  | B :: T => match box_block B X with None => None | Some Z => box_run T Z end end.
Definition point (x : vector) : box := (x, map (fun _ => zero) x).
Definition box_check (T : transformer Q) (data : pairs Q) : bool :=
  let C := compile_all T in
  forallb (fun p => match box_run C (map point (fst p)) with
    | None => false
    | Some Z => forallb (fun b => is_zero_vector (snd b)) Z && same_tokens (map fst Z) (snd p) end) (map_data of_Q data).
End Checker.
Arguments Compiled {F}. Arguments c_eta {F}. Arguments groups {F}. Arguments c_rho {F}. Arguments c_score {F}. Arguments c_value {F}.

(* ---- shapes and budgets ---- *)

Section Budgets.
Variables (d : nat) (max_width max_blocks max_parameters : N).
Definition has_length (x : list Q) : bool := Nat.eqb (length x) d.
Definition is_nonempty {A} (l : list A) : bool := match l with [] => false | _ => true end.
Definition check_square (M : square Q) : bool := forallb (fun lr => has_length (fst lr) && has_length (snd lr)) (outers M).
Definition check_block (B : block Q) : bool :=
  forallb (fun n => has_length (out_weights n) && has_length (in_weights n)) (neurons B)
  && check_square (score_matrix B) && check_square (value_matrix B) && (width B <=? max_width)%N.
Definition check_pair (p : list (list Q) * list (list Q)) : bool :=
  is_nonempty (fst p) && is_nonempty (snd p) && forallb has_length (fst p) && forallb has_length (snd p).
Definition check_sizes (T : transformer Q) (data : pairs Q) : bool :=
  Nat.leb 2 d && is_nonempty data && forallb check_pair data && forallb check_block T
  && (count T <=? max_blocks)%N && (parameters d T <=? max_parameters)%N.

Definition check_hardmax (F : numbers) (T : transformer Q) (data : pairs Q) : bool :=
  check_sizes T data && exact_check F T data.
Definition check_uniform (F : numbers) (T : transformer Q) (data : pairs Q) : bool :=
  check_sizes T data && forallb (is_uniform F) T && exact_check F T data.
Definition check_softmax (F : numbers) (limit : Q) (cap : N) (T : transformer Q) (data : pairs Q) : bool :=
  check_sizes T data && box_check F (of_Q limit) cap T data.
End Budgets.
