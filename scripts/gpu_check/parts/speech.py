"""The demo's Whisper, a real one: whether it hears people on a GPU as it does on a processor."""

from scripts.gpu_check.found import no_cuda_in_ctranslate2, require
from scripts.gpu_check.job import Job
from scripts.gpu_check.parts.whisper import COMPUTE_TYPES, MODULES

# As the export has it: half precision may choose another word where two are about as likely.
_LIMIT = 0.05


def run(job: Job) -> None:
    """The share of words that differ from float32 on the processor, of windows in a batch and one by one."""
    require(job.device, no_cuda_in_ctranslate2, modules=(*MODULES, "av", "jiwer"))
    import jiwer

    from frontend.verification.recordings import recordings
    from scripts.export_models.parity import Check
    from scripts.export_models.whisper.served import recognizer_module
    from scripts.gpu_check.lookalikes import demo_whisper
    from scripts.machine import processors

    folder, module = demo_whisper(job), recognizer_module()
    # Languages in which it is sure of what it hears: what is doubtful is sampled, and another word each time.
    sure = recordings("en", "it", most=job.size.spoken)
    windows = [module.Window(each.samples(), language=each.language) for each in sure]

    def heard(device: str, compute_type: str, together: int) -> list[str]:
        recognizer = module.Recognizer(folder, device=device, compute_type=compute_type, threads=processors())
        groups = [windows[at : at + together] for at in range(0, len(windows), together)]
        answers = [answer for group in groups for answer in recognizer.transcribe(group)]
        return ["".join(word.text for word in answer.words) for answer in answers]

    wanted = heard("cpu", "float32", 1)
    for compute_type in COMPUTE_TYPES[job.device]:
        for how, together in (("one by one", 1), ("in a batch", len(windows))):
            error = jiwer.wer(wanted, heard(job.device, compute_type, together))
            what = f"share of other words, {len(windows)} recordings {how}"
            job.tell.check(Check(f"demo {compute_type}", what, error, _LIMIT))
