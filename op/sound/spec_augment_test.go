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
	const tone = files + `{"decode_audio":{"rate":16000,"channels":2,"duration":1}},`
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
		tone + `{"speed":{"factors":[1.1]}}`:                              "audio float32 [14546, 2], label int64, key text",
		tone + `{"speed":{"factors":[0.9,1]}}`:                            "audio float32 [?, 2], label int64, key text",
		tone + `{"speed":{"factors":[2],"layout":"CT"}}`:                  "audio float32 [16000, 1], label int64, key text",
		tone + `{"speed":{"factors":[]}}`:                                 `step "speed" (#3): factors has 0 numbers: must have 1 to 100`,
		tone + `{"speed":{"factors":[0.33333]}}`:                          `step "speed" (#3): factors has 0.33333: must be from 0.1 to 10, with three decimals at most`,
		tone + `{"speed":{"factors":[11]}}`:                               `step "speed" (#3): factors has 11: must be from 0.1 to 10, with three decimals at most`,
		tone + `{"speed":{"factors":[1],"field":"label"}}`:                `step "speed" (#3): field is "label", which is int64: must be samples, float32 or int16; put decode_audio before it`,
		tone + `{"add_noise":{"noises":"n","snr":[0,5]}}`:                 "audio float32 [16000, 2], label int64, key text",
		tone + `{"add_noise":{"noises":"n"}}`:                             `step "add_noise" (#3): lacks the argument snr`,
		tone + `{"add_noise":{"noises":"n","snr":[5,0]}}`:                 `step "add_noise" (#3): snr is [5,0]: must be from -120 to 120, or two rising numbers of these`,
		tone + `{"add_noise":{"noises":"n","snr":5,"rate":8000}}`:         `step "add_noise" (#3): rate is 8000, but the samples have 16000 a second`,
		tone + `{"add_noise":{"noises":"n\u0000","snr":5}}`:               `step "add_noise" (#3): noises contains a zero byte`,
		files + `"decode_audio",{"add_noise":{"noises":"n","snr":5}}`:     `step "add_noise" (#3): rate is not given, and nothing tells how many samples a second has: noise is brought to that; give decode_audio a rate, or this step`,
		files + `"decode_audio",{"reverb":{"impulses":"n","rate":16000}}`: "audio float32 [?, ?], label int64, key text",
		files + `"decode_audio",{"reverb":{"impulses":"n"}}`:              `step "reverb" (#3): rate is not given, and nothing tells how many samples a second has: impulse responses are brought to that; give decode_audio a rate, or this step`,
		tone + `{"reverb":{"impulses":"n","p":2}}`:                        `step "reverb" (#3): p is 2: must be from 0 to 1`,
		tone + `{"pitch":{"semitones":[-2,2]}}`:                           "audio float32 [16000, 2], label int64, key text",
		tone + `{"pitch":{"semitones":25}}`:                               `step "pitch" (#3): semitones is 25: must be from -24 to 24, or two rising numbers of these`,
		tone + `{"pitch":{"semitones":2,"n_fft":510}}`:                    `step "pitch" (#3): n_fft is 510: must be a multiple of 4`,
		tone + `{"pitch":{"semitones":2,"n_fft":8}}`:                      `step "pitch" (#3): n_fft is 8: must be from 16 to 32768`,
	} {
		if got := checked(steps); got != want {
			t.Errorf("%s:\n%s, want\n%s", steps, got, want)
		}
	}
}
