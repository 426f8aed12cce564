from scripts.export_models.demo.espeak import Espeak


def test_an_instance_speaks_on_after_another_is_gone() -> None:
    first = Espeak()
    Espeak().speak("something else", "de")
    assert len(first.speak("hello", "en-us").samples) > 1000
