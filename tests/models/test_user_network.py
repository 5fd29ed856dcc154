"""Networks of any make between samples and outputs: sequences, tokens, containers; what was taken is told."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from priorscope.models import Redrawing, Scaling, UserNetwork
from priorscope.probes import empirical_ntk


def _signals() -> Tensor:
    return torch.randn(12, 3, 20, generator=torch.Generator().manual_seed(0))


def _tokens() -> tuple[Tensor, Tensor]:
    raw = torch.randint(0, 30, (40, 8), generator=torch.Generator().manual_seed(0)).float()
    return raw, (raw - raw.mean(0)) / raw.std(0)


@dataclass
class _Answer:
    hidden: Tensor
    logits: Tensor


class _Gives(nn.Module):
    """A linear map whose output is wrapped as asked."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form, self.layer = form, nn.Linear(6, 2)

    def forward(self, x: Tensor) -> object:
        out = self.layer(x)
        forms = {
            "dict": {"hidden": x, "logits": out},
            "tuple": (out, x),
            "nested": ({"output": out},),
            "dataclass": _Answer(x, out),
            "state first": (torch.zeros(1, 5, 9), out),
            "strings": ("a", "b"),
        }
        return forms[self.form]


@pytest.mark.parametrize("form", ["dict", "tuple", "nested", "dataclass", "state first"])
def test_the_tensor_of_predictions_is_found(form: str) -> None:
    x = torch.randn(7, 6, generator=torch.Generator().manual_seed(0))
    module = _Gives(form)
    network = UserNetwork.fit(module, x, 2)
    torch.testing.assert_close(network(x), module.layer(x))
    assert "is taken" in " ".join(network.notes)


def test_what_holds_no_predictions_is_refused() -> None:
    with pytest.raises(TypeError, match="a network must give a tensor .* got tuple without a tensor of 3 rows"):
        UserNetwork.fit(_Gives("strings"), torch.randn(7, 6), 2)


@pytest.mark.parametrize("batch_first", [True, False])
def test_a_recurrent_network_reads_each_signal_alone(batch_first: bool) -> None:
    torch.manual_seed(0)
    x = _signals()
    lstm = nn.LSTM(3, 5, batch_first=batch_first)
    network = UserNetwork.fit(lstm, x, 2)
    out = network(x)
    series = x.movedim(1, -1)  # (n, positions, channels)
    whole = lstm(series if batch_first else series.transpose(0, 1))[0]
    torch.testing.assert_close(out, (whole[:, -1] if batch_first else whole[-1])[:, :2])
    torch.testing.assert_close(network(x[4:5]), out[4:5])  # whatever stands beside it
    text = " ".join(network.notes)
    assert "channels last, as a sequence" in text
    assert "last of 20 is taken" in text
    assert ("positions first and samples second" in text) is not batch_first


def test_features_become_a_sequence_or_a_channel() -> None:
    x = torch.randn(9, 12, generator=torch.Generator().manual_seed(0))
    assert UserNetwork.fit(nn.GRU(1, 4, batch_first=True), x, 2).way.axis == 2
    conv = nn.Sequential(nn.Conv1d(1, 2, 3), nn.Flatten(), nn.Linear(20, 1))
    assert UserNetwork.fit(conv, x, 1).way.axis == 1


class _Words(nn.Module):
    def __init__(self, size: int = 30) -> None:
        super().__init__()
        self.table = nn.Embedding(size, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"logits": self.head(self.body(self.table(x)).mean(1))}


def test_a_transformer_is_given_its_tokens_whole() -> None:
    torch.manual_seed(0)
    raw, standard = _tokens()
    module = _Words()
    network = UserNetwork.fit(module, standard, 3, scaling=Scaling.between(raw, standard))
    torch.testing.assert_close(network(standard), module.eval()(raw.long())["logits"])
    assert network.takes_tokens
    assert empirical_ntk(network, standard[:5]).shape == (5, 5)
    fresh = network.redraw(1)  # attention is drawn by its own law
    assert not torch.equal(
        fresh.module.body.layers[0].self_attn.in_proj_weight, module.body.layers[0].self_attn.in_proj_weight
    )
    with pytest.raises(ValueError, match="embedding takes whole numbers from 0 to 9"):
        UserNetwork.fit(_Words(10), standard, 3, scaling=Scaling.between(raw, standard))
    with pytest.raises(ValueError, match="embedding takes whole numbers"):
        UserNetwork.fit(_Words(), standard + 0.3, 3, scaling=Scaling.between(raw, standard))


def test_attention_of_another_law_is_not_drawn_again() -> None:
    attention = nn.MultiheadAttention(16, 2)
    with torch.no_grad():
        attention.in_proj_weight.mul_(3)
    with pytest.raises(ValueError, match="'in_proj_weight' has mean square"):
        Redrawing.of(attention)


def test_a_network_that_mixes_samples_is_refused() -> None:
    class Mixing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x - x.mean(0))

    with pytest.raises(ValueError, match="depends on the other samples"):
        UserNetwork.fit(Mixing(), torch.randn(7, 6, generator=torch.Generator().manual_seed(0)), 2)
