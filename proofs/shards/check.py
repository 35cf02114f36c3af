"""Trusted. A check whose passes run in shards: obligations, counts and digests as always, passes on other processes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from proofs.balls.attention import PRECISIONS
from proofs.kernel.check import DENSE, Found, Obligation, Passes, Progress, Verdict, check
from proofs.kernel.errors import InternalFault, MalformedInput, Status, UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Claim, Dataset, Readout, Temperatures
from proofs.shards.answer import ShardAnswer, decode_answer
from proofs.shards.dispatch import (
    Dispatch,
    Task,
    answer_here,
    answer_in_processes,
    answer_on_dask,
    count_workers,
)
from proofs.shards.journal import Journal
from proofs.shards.merge import merge
from proofs.shards.plan import check_cover, find_gaps, plan_shards
from proofs.shards.question import Question, checker_digest, digest_of, encode_pairs
from proofs.shards.worker import Witness, prepare, run_pass

PART = "shards"
PER_WORKER = 4  # shards for each process: a slow one does not hold up the others for long
RESUMABLE = 32  # shards of a check with a journal: what a killed run loses
JOBS = "check ranges of pairs on so many processes (-1: one a core)"
DASK = "check ranges of pairs on the workers of this Dask scheduler, whose machines are trusted then"
RESUME = "keep finished ranges of pairs in this file, and go on from those that an earlier run left there"


@dataclass(frozen=True, slots=True)
class Sharding:
    """How a check is spread: over processes, over a cluster, over several runs."""

    jobs: int = 1
    dask: str | None = None
    resume: Path | None = None

    def __post_init__(self) -> None:
        if self.dask is not None and self.jobs != 1:
            raise UsageError("the cluster has its own number of workers", "--jobs", "leave it out with --dask")
        count_workers(self.jobs)

    @property
    def wanted(self) -> bool:
        """Whether anything was asked for: if not, a check runs as a whole."""
        return self.jobs != 1 or self.dask is not None or self.resume is not None

    def start(self) -> tuple[Dispatch, int]:
        """Who answers, and in how many shards."""
        if self.dask is not None:
            return answer_on_dask(self.dask), RESUMABLE
        workers = count_workers(self.jobs)
        shards = max(PER_WORKER * workers, RESUMABLE if self.resume else 0)
        return (answer_in_processes(workers) if workers > 1 else answer_here), shards


@dataclass
class ShardedPasses:
    """The passes of a check, in shards. ``dispatch`` answers them, ``count`` says in how many."""

    witness: Witness
    subject: Question  # its name, temperatures, read-out and bits are filled in for each pass
    dispatch: Dispatch
    count: int
    journal: Journal | None = None
    resumed: list[str] = field(default_factory=list)

    def hardmax(
        self, dataset: Dataset, transformer: Transformer, readout: Readout, limits: Limits, progress: Progress | None
    ) -> Found:
        """The obligation of temperature 0."""
        question = replace(self.subject, name="hardmax", temperatures="0", readout=readout.value)
        return self._ask(question, dataset, transformer, limits, progress)

    def softmax(
        self,
        dataset: Dataset,
        transformer: Transformer,
        claimed: Temperatures,
        readout: Readout,
        limits: Limits,
        progress: Progress | None,
    ) -> Found:
        """The obligation of positive temperatures; for one temperature all shards use the same precision, as in the
        kernel, which rises until the whole dataset is decided."""
        question = replace(self.subject, name="softmax", temperatures=str(claimed), readout=readout.value)
        if claimed.single is None:
            return self._ask(question, dataset, transformer, limits, progress)
        for bits in PRECISIONS:
            answer, parts = self._ask(replace(question, bits=bits), dataset, transformer, limits, progress)
            if answer.status is not Status.UNDECIDED:
                break
        return replace(answer, detail=f"{answer.detail} (balls of {bits} bits)"), parts

    def _ask(
        self,
        question: Question,
        dataset: Dataset,
        transformer: Transformer,
        limits: Limits,
        progress: Progress | None,
    ) -> Found:
        answers = self._answers(question, dataset, limits, progress)

        def alone(pair: int) -> Obligation:
            return run_pass(question, Dataset(dataset.dimension, (dataset.pairs[pair],)), transformer, limits)[0]

        obligation = merge(dataset, question.name, answers, alone)
        parts = dict.fromkeys(part for answer in answers for part in answer.parts)
        return obligation, tuple(sorted(parts, key=_order))

    def _answers(
        self, question: Question, dataset: Dataset, limits: Limits, progress: Progress | None
    ) -> list[ShardAnswer]:
        """The answers of all shards, in order, which cover the dataset. Raises: InternalFault."""
        total = len(dataset.pairs)
        known = [] if self.journal is None else self.journal.answers
        answers = {(a.first, a.last): a for a in known if a.question == question.digest}
        if len(answers) < sum(a.question == question.digest for a in known):
            raise MalformedInput("a shard is answered twice", hint="the file was changed", file=str(self._path))
        ranges = plan_shards(find_gaps(sorted(answers), total), [len(pair.input) for pair in dataset.pairs], self.count)
        texts = {
            (first, last): encode_pairs(dataset.dimension, dataset.pairs[first:last])
            for first, last in sorted([*answers, *ranges])
        }
        check_cover(list(texts), total)
        check_texts(dataset, list(texts.values()))
        for answer in answers.values():
            self._check(answer, question, texts[answer.first, answer.last])
        if answers:
            self.resumed.append(f"{sum(b - a for a, b in answers)} of {total} pairs{_label(question)}")
        tasks = [
            Task(asdict(question), asdict(limits), self.witness, first, texts[first, last]) for first, last in ranges
        ]
        for line in self.dispatch(tasks) if tasks else ():
            answer = self._decode(line)
            place = answer.first, answer.last
            if place not in ranges or place in answers:
                raise InternalFault(f"an answer about pairs {place[0]} to {place[1] - 1}, which nobody asked for")
            self._check(answer, question, texts[place])
            answers[place] = answer
            if self.journal is not None:
                self.journal.append(answer)
            if progress is not None:
                progress(sum(b - a for a, b in answers), total)
        check_cover(sorted(answers), total)
        return [answers[place] for place in sorted(answers)]

    @property
    def _path(self) -> Path | None:
        return None if self.journal is None else self.journal.path

    def _decode(self, line: str) -> ShardAnswer:
        if not isinstance(line, str):
            raise InternalFault("a shard was not answered")
        if line.startswith("sha256:"):
            message = f"a worker has another version of the checker: {line[:100]}, here it is {self.subject.version}"
            raise UsageError(message, hint="install the same version of exact-interp, python-flint and numpy there")
        try:
            return decode_answer(line)
        except MalformedInput as error:
            raise InternalFault(f"a shard answered {error}") from error

    def _check(self, answer: ShardAnswer, question: Question, text: bytes) -> None:
        """Raises InternalFault unless the answer is about this question and what was sent."""
        expected = {
            "question": question.digest,
            "pairs": digest_of(text),
            "transformer": question.transformer,
        }
        for name, value in expected.items():
            if getattr(answer, name) != value:
                place = f"pairs {answer.first} to {answer.last - 1}"
                raise InternalFault(f"the answer about {place} is about another {name}", hint="please report it")


def _order(part: str) -> tuple[bool, str]:
    """As a check on all pairs at once names them: balls after the kernel."""
    return part == "balls", part


def _label(question: Question) -> str:
    return f" ({question.name}{'' if question.bits is None else f', balls of {question.bits} bits'})"


def check_texts(dataset: Dataset, texts: Sequence[bytes]) -> None:
    """Raises InternalFault unless these texts of shards, one after the other, are the dataset."""
    head = f"interp-dataset/1 {dataset.dimension} {len(dataset.pairs)}\n".encode()
    if digest_of(head + b"".join(text.partition(b"\n")[2] for text in texts)) != dataset.digest:
        raise InternalFault("the shards are not the dataset")


def check_in_shards(
    dataset: Dataset,
    transformer: Transformer,
    witness: Witness,
    claim: Claim,
    sharding: Sharding,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress | None = None,
    passes: Passes = DENSE,
) -> Verdict:
    """The verdict of ``proofs.kernel.check.check``, its passes run in shards. ``witness`` is the transformer's file.

    What differs from the verdict on all pairs at once: ``parts`` names this one too, and a note tells of a cluster or a
    resumed run. Raises: as ``check``, UsageError, MalformedInput for a journal about something else.
    """
    dispatch, count = sharding.start()
    subject = Question(
        checker_digest(),
        dataset.digest,
        transformer.digest,
        "kernel" if passes is DENSE else "engine",
        limits.max_height,
        "",
        "",
        "",
    )
    about = {
        "version": subject.version,
        "dataset": subject.dataset,
        "transformer": subject.transformer,
        "claim": str(claim),
        "passes": subject.passes,
        "max_height": str(limits.max_height),
    }
    opened: Journal | nullcontext[None] = nullcontext() if sharding.resume is None else Journal(sharding.resume, about)
    with opened as journal:
        sharded = ShardedPasses(witness, subject, dispatch, count, journal)
        prepared = prepare(transformer, subject.passes)
        verdict = check(
            dataset, prepared, claim, limits, progress, Passes(sharded.hardmax, sharded.softmax, passes.count)
        )
    notes = list(verdict.notes)
    if sharding.dask is not None:
        notes.append(f"checked by the workers of the Dask scheduler at {sharding.dask}, which are trusted")
    if sharded.resumed:
        notes.append(f"resumed: {', '.join(sharded.resumed)} answered by an earlier run, as {sharding.resume} says")
    return replace(verdict, parts=(*verdict.parts, PART), notes=tuple(notes))
