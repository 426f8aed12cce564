"""A mark for tests that need exact int8 products."""

import pytest

from scripts.export_models.precisions import int8_is_fast

exact_int8 = pytest.mark.skipif(not int8_is_fast(), reason="this processor's sums of products are not exact")
