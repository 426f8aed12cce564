"""The course of a rehearsal: cut in a download, cut in an export, gone on with to the first answers, started again."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from scripts.export_models.checkpoints import EMBEDDER, RERANKER
from scripts.export_models.plan import MODELS
from scripts.rehearsal.answers import ask, hold_to_people
from scripts.rehearsal.checkout import Checkout
from scripts.rehearsal.hub import Cut, Hub
from scripts.rehearsal.report import Report, Step, exported, took
from scripts.rehearsal.watch import RehearsalError, Watched

# Where the steps below look for what is said.
_READY, _EXPORTING = "Quartet is ready after", "^exporting "
_LATEST_SECONDS = 6 * 3600.0
# Of a file that is cut, what the client had not written down yet.
_LOST_A_CUT = 40_000_000
_FIRST_FILE = f"{EMBEDDER.repository}/pytorch_model.bin"
_OTHER_FILE = f"{RERANKER.repository}/model.safetensors"


class Course:
    """The steps, in order; each is told to ``report``. ``real`` Whispers are held to recordings of people."""

    def __init__(self, checkout: Checkout, hub: Hub, report: Report, log: Path, *, real: bool = False) -> None:
        self._real = real
        self._checkout, self._hub, self._report, self._log = checkout, hub, report, log
        self._cuts = 0
        self._finished: set[str] = set()

    @contextmanager
    def _running(self, name: str, precision: str) -> Iterator[Watched]:
        """``make run``, told as the step ``name`` from its beginning to the end of the block."""
        with closing(self._checkout.run(precision, self._log)) as run:
            yield run
            end = run.seconds
            run.close()
        models = list(exported(run.lines, run.samples))
        self._report.models.setdefault(precision, []).extend(models)
        if again := {each.model for each in models} & self._finished:
            raise RehearsalError(f"{name}: {', '.join(sorted(again))} had been exported")
        self._finished |= {each.model for each in models}
        disk, note = self._checkout.disk("build", "model_repository"), f"{len(models)} models exported"
        self._report.steps.append(Step(name, took(run.lines, run.samples, 0.0, end), disk, note))

    def cut_in_a_download(self, precision: str) -> None:
        """Ctrl-C while half of a large file has come."""
        with self._running("Ctrl-C in a download", precision) as run:
            half = (self._hub.folder / _FIRST_FILE).stat().st_size // 2
            self._hub.cuts[_FIRST_FILE] = Cut(half, run.interrupt)
            self._cuts += 1
            self._ended(run)

    def cut_in_an_export(self, precision: str, model: str = "m3_reranker") -> None:
        """The connection breaks once in another file, and Ctrl-C while ``model`` is built."""
        half = (self._hub.folder / _OTHER_FILE).stat().st_size // 2
        self._hub.cuts[_OTHER_FILE] = Cut(half)
        self._cuts += 1
        with self._running("the same again; the connection breaks once; Ctrl-C in an export", precision) as run:
            run.wait_for(f" {model}: building layers 50%", _LATEST_SECONDS)
            run.interrupt()
            self._ended(run)

    def _ended(self, run: Watched) -> None:
        run.wait_for("export stopped by SIG", _LATEST_SECONDS)
        if not run.ended():
            raise RehearsalError("make run was interrupted and ended with status 0")

    def to_first_answers(self, name: str, precision: str, exporting: bool = True) -> None:
        """``make run`` until it is ready, and one answer of each operation."""
        asked = self._hub.asked
        with self._running(name, precision) as run:
            run.wait_for(_READY, _LATEST_SECONDS)
            ready = run.seconds
            values = self._checkout.values()
            seconds = ask(values["QUARTET_URL"], values["QUARTET_API_KEY"])
            if self._real:
                hold_to_people(values["QUARTET_URL"], values["QUARTET_API_KEY"])
        self._report.answers[name] = {"ready": ready, **seconds}
        if not exporting and (self._hub.asked > asked or any("exporting" in line.text for line in run.lines)):
            raise RehearsalError(f"{name}: something was downloaded or exported")

    def in_another_precision(self, precision: str) -> None:
        """Text models alone are exported anew."""
        self._finished = {model for model in MODELS if not model.startswith("m3_")}
        self.to_first_answers(f"the same in {precision}", precision)

    def look_at_what_was_sent(self) -> None:
        """What had come before a cut was not sent again."""
        size = sum((self._hub.folder / file).stat().st_size for file in self._hub.served)
        self._report.hub.update(size=size, sent=self._hub.sent, asked=self._hub.asked)
        if self._hub.sent > size + self._cuts * _LOST_A_CUT:
            raise RehearsalError(f"the hub has {size} bytes and sent {self._hub.sent}")
