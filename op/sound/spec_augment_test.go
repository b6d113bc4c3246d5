package sound_test

import (
	"math"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/op/sound"
	"github.com/headrace/headrace/order"
)

const torchaudiosMasks = `
def means(args):
    """Of many masks of torchaudio's rule: mean length, mean start."""
    import torch
    torch.manual_seed(1)
    n, size, param = args["n"], args["size"], args["param"]
    value = torch.rand(n) * param
    start = torch.rand(n) * (size - value)
    return [value.long().float().mean().item(), start.long().float().mean().item()],
`

// Of 10^5 draws: length and place are distributed as torchaudio's.
func TestMasksAreTorchaudios(t *testing.T) {
	const n = 100_000
	for _, c := range []struct{ size, param int }{{100, 30}, {80, 27}, {20, 20}, {5, 1}} {
		var length, start float64
		for i := range n {
			from, to := sound.Stretch(c.param, c.size, order.NewKey(1, 0, 0, int64(i)))
			if from < 0 || to > c.size || to-from >= c.param {
				t.Fatalf("%+v: %d to %d", c, from, to)
			}
			length, start = length+float64(to-from), start+float64(from)
		}
		var want []float64
		oracle.Run(t, torchaudiosMasks, "means", map[string]any{"n": n, "size": c.size, "param": c.param}, &want)
		for i, got := range []float64{length / n, start / n} {
			if math.Abs(got-want[i]) > 0.02*want[i]+0.02 {
				t.Errorf("%+v: %v on average, torchaudio's %v", c, got, want[i])
			}
		}
	}
}

func TestSoundChangesRefuse(t *testing.T) {
	mel := files + `{"decode_audio":{"channels":1}},"log_mel",`
	for steps, want := range map[string]string{
		mel + `{"spec_augment":{"time":40,"freq":15}}`:                    "mel float32 [?, 80], label int64, key text",
		mel + `{"spec_augment":{"time":40}}`:                              `step "spec_augment" (#4): lacks the argument freq`,
		mel + `{"spec_augment":{"time":40,"freq":-1}}`:                    `step "spec_augment" (#4): freq is -1: must be from 0 to 1000000`,
		mel + `{"spec_augment":{"time":40,"freq":15,"field":"x"}}`:        `step "spec_augment" (#4): field is "x": the samples have the fields mel, label, key`,
		mel + `{"spec_augment":{"time":40,"freq":15,"field":"label"}}`:    `step "spec_augment" (#4): field is "label", which is int64: must be a spectrogram, float32 with two axes`,
		files + `"decode_audio",{"gain":{"db":[-6,6]}}`:                   "audio float32 [?, ?], label int64, key text",
		files + `"decode_audio",{"gain":{"db":[6,-6]}}`:                   `step "gain" (#3): db is [6,-6]: must be from -120 to 120, or two rising numbers of these`,
		files + `"decode_audio",{"gain":{"db":1,"field":"label"}}`:        `step "gain" (#3): field is "label", which is int64: must be samples, float32 or int16; put decode_audio before it`,
		files + `"decode_audio",{"gain":{"db":1,"field":"nothing here"}}`: `step "gain" (#3): field is "nothing here": the samples have the fields audio, label, key`,
	} {
		if got := checked(steps); got != want {
			t.Errorf("%s:\n%s, want\n%s", steps, got, want)
		}
	}
}
