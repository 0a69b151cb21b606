"""The module of PyTorch: the numbers of the map, and slopes by differences."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.recalibration import recalibrate

torch = pytest.importorskip("torch")

OF_TWO = ("auto", "identity", "temperature", "platt", "quadratic", "spline", "venn-abers", "svs", "bounded")
OF_MORE = ("auto", "sms", "bounded", "isotonic", "svs, ridge / 4")


def data(k, n=550):
    rng = np.random.default_rng(k)
    logits = 1.5 * rng.normal(size=(n, k))
    y = (logits / 2 + rng.gumbel(size=(n, k))).argmax(axis=1)
    return logits, y


@pytest.mark.quick_cases(7)
@pytest.mark.parametrize(("k", "method"), [*((2, name) for name in OF_TWO), *((3, name) for name in OF_MORE)])
def test_the_module_gives_the_numbers_of_the_map(k, method):
    logits, y = data(k)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = recalibrate(y, p if k > 2 else p[:, 1], method, test=False)
    module = found.torch_module()
    far = np.concatenate([logits, 30 * logits[:20]])
    q = np.exp(far - far.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    made = module(torch.tensor(far)).exp().numpy()
    expected = found(q).probs if k > 2 else found(q[:, 1]).p
    np.testing.assert_allclose(made if k > 2 else made[:, 1], expected, atol=1e-6)
    np.testing.assert_allclose(module(torch.tensor(far.reshape(-1, 1, k))).reshape(-1, k).exp().numpy(), made)
    assert module(torch.tensor(far, dtype=torch.float32)).dtype == torch.float32
    if method in ("auto", "isotonic", "venn-abers", "identity", "spline"):
        return
    x = torch.tensor(logits[:5], requires_grad=True)
    assert torch.autograd.gradcheck(module, (x,))


def test_what_has_no_module_is_refused():
    logits, y = data(3, 100)
    module = recalibrate(y, kc.Logits(logits), "temperature", test=False).torch_module()
    with pytest.raises(InputError, match="fitted to 3 classes"):
        module(torch.zeros(4, 2))
    with pytest.raises(InputError, match="this map is of Normal"):
        recalibrate(logits[:, 0], kc.Normal(np.zeros(100), np.ones(100)), test=False).torch_module()
