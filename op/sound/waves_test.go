package sound_test

import (
	"strings"
	"testing"
)

func TestStepsOnRecordingsRefuse(t *testing.T) {
	const any, tone = files + `"decode_audio",`, files + `{"decode_audio":{"rate":16000,"channels":2,"duration":1}},`
	for _, c := range [][2]string{
		{tone + `{"speed":{"factors":[1.1]}}`,
			`audio float32 [14546, 2]`},
		{tone + `{"speed":{"factors":[0.9,1]}}`,
			`audio float32 [?, 2]`},
		{tone + `{"speed":{"factors":[2],"layout":"CT"}}`,
			`audio float32 [16000, 1]`},
		{tone + `{"speed":{"factors":[]}}`,
			`factors has 0 numbers: must have 1 to 100`},
		{tone + `{"speed":{"factors":[0.33333]}}`,
			`factors has 0.33333: must be from 0.1 to 10, with three decimals at most`},
		{tone + `{"speed":{"factors":[11]}}`,
			`factors has 11: must be from 0.1 to 10, with three decimals at most`},
		{tone + `{"speed":{"factors":[1],"field":"label"}}`,
			`field is "label", which is int64: must be samples, float32 or int16; put decode_audio before it`},
		{tone + `{"add_noise":{"noises":"n","snr":[0,5]}}`,
			`audio float32 [16000, 2]`},
		{tone + `{"add_noise":{"noises":"n"}}`,
			`lacks the argument snr`},
		{tone + `{"add_noise":{"noises":"n","snr":[5,0]}}`,
			`snr is [5,0]: must be from -120 to 120, or two rising numbers of these`},
		{tone + `{"add_noise":{"noises":"n","snr":5,"rate":8000}}`,
			`rate is 8000, but the samples have 16000 a second`},
		{tone + `{"add_noise":{"noises":"n\u0000","snr":5}}`,
			`noises contains a zero byte`},
		{any + `{"add_noise":{"noises":"n","snr":5}}`,
			`rate is not given, and nothing tells how many samples a second has: noise`},
		{any + `{"reverb":{"impulses":"n","rate":16000}}`,
			`audio float32 [?, ?]`},
		{any + `{"reverb":{"impulses":"n"}}`,
			`rate is not given, and nothing tells how many samples a second has: impulse`},
		{tone + `{"reverb":{"impulses":"n","p":2}}`,
			`p is 2: must be from 0 to 1`},
		{tone + `{"pitch":{"semitones":[-2,2]}}`,
			`audio float32 [16000, 2]`},
		{tone + `{"pitch":{"semitones":25}}`,
			`semitones is 25: must be from -24 to 24, or two rising numbers of these`},
		{tone + `{"pitch":{"semitones":2,"n_fft":510}}`,
			`n_fft is 510: must be a multiple of 4`},
		{tone + `{"pitch":{"semitones":2,"n_fft":8}}`,
			`n_fft is 8: must be from 16 to 32768`},
	} {
		if got := checked(c[0]); !strings.Contains(got, c[1]) {
			t.Errorf("%s:\n%s, want\n%s", c[0], got, c[1])
		}
	}
}
