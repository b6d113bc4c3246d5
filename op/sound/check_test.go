package sound_test

import (
	"strings"
	"testing"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/recipe"
)

const (
	files = `{"files":{"pattern":"a","label":"parent"}},`
	paths = `{"files":{"pattern":"a","label":"parent","content":false}},`
	said  = `{"source":{"function":"m:f","gives":{"path":"text","window":{"dtype":"float64","shape":[2]},"one":{"dtype":"float64","shape":[]}}}},`
)

// checked returns the fields after steps, or what is wrong with them.
func checked(steps string) string {
	r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[` + steps + `]}`))
	if err == nil {
		schema, wrong := r.Check()
		if err = wrong; err == nil {
			return schema.String()
		}
	}
	return strings.TrimPrefix(err.Error(), "recipe: ")
}

func TestDecodeAudio(t *testing.T) {
	for _, c := range []struct{ steps, want string }{
		{files + `"decode_audio"`, "audio float32 [?, ?], label int64, key text"},
		{files + `{"decode_audio":{"channels":1}}`, "audio float32 [?], label int64, key text"},
		{files + `{"decode_audio":{"channels":1,"layout":"CT"}}`, "audio float32 [1, ?], label int64, key text"},
		{files + `{"decode_audio":{"channels":2,"rate":8000,"duration":0.5,"dtype":"int16"}}`, "audio int16 [4000, 2], label int64, key text"},
		{files + `{"decode_audio":{"channels":2,"rate":8000,"duration":0.5,"layout":"CT"}}`, "audio float32 [2, 4000], label int64, key text"},
		{files + `{"decode_audio":{"channels":1,"rate":8000,"duration":0.5,"short":"keep"}}`, "audio float32 [?], label int64, key text"},
		{files + `{"decode_audio":{"channels":1,"rate":44100,"duration":0.1,"to":"a"}}`, "a float32 [4410], label int64, key text"},
		{paths + `{"decode_audio":{"channels":1}}`, "audio float32 [?], label int64, key text"},
		{said + `{"decode_audio":{"channels":1,"window":"window"}}`, "audio float32 [?], window float64 [2], one float64, key text"},

		{files + `{"decode_audio":{"field":"label"}}`, `step "decode_audio" (#2): field is "label", which is int64: must be bytes, the content of a file, or text, its path`},
		{files + `{"decode_audio":{"to":"key"}}`, `step "decode_audio" (#2): to is "key": the samples have a field of this name already`},
		{files + `{"decode_audio":{"offset":1,"start":"center","duration":1}}`, `step "decode_audio" (#2): has both offset and start: give one of them`},
		{files + `{"decode_audio":{"start":"random"}}`, `step "decode_audio" (#2): start is "random", but all of the recording is read: set duration`},
		{files + `{"decode_audio":{"layout":"T"}}`, `step "decode_audio" (#2): layout is "T", which has one channel: set channels=1, or use "TC"`},
		{files + `{"decode_audio":{"layout":"T","channels":2}}`, `step "decode_audio" (#2): layout is "T", which has one channel: set channels=1, or use "TC"`},
		{files + `{"decode_audio":{"channels":0}}`, `step "decode_audio" (#2): channels is 0: must be from 1 to 256`},
		{files + `{"decode_audio":{"rate":8000,"channels":1,"duration":0.0001}}`, `step "decode_audio" (#2): duration is 0.0001 seconds, which are [0] samples`},
		{said + `{"decode_audio":{"window":"windows"}}`, `step "decode_audio" (#2): window is "windows": the samples have the fields path, window, one, key`},
		{said + `{"decode_audio":{"window":"one"}}`, `step "decode_audio" (#2): window is "one", which is float64: must be float64 [2], begin and end in seconds; ` +
			`where decode_video makes several clips, video_clips makes a sample of each`},
		{said + `{"decode_audio":{"window":"window","short":"repeat"}}`, `step "decode_audio" (#2): window says where the window is, and silence what is missing: leave out start and short`},
	} {
		if got := checked(c.steps); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.steps, got, c.want)
		}
	}
}

func TestLogMel(t *testing.T) {
	const second = files + `{"decode_audio":{"channels":1,"rate":16000,"duration":1}},`
	for _, c := range []struct{ steps, want string }{
		{second + `"log_mel"`, "mel float32 [100, 80], label int64, key text"},
		{second + `{"log_mel":{"layout":"MT","to":"x"}}`, "x float32 [80, 100], label int64, key text"},
		{second + `{"log_mel":{"preset":"kaldi"}}`, "mel float32 [98, 80], label int64, key text"}, // 1 + (16000 - 400) / 160
		{second + `{"log_mel":{"preset":"kaldi","n_fft":256}}`, "mel float32 [99, 80], label int64, key text"},
		{second + `{"log_mel":{"preset":"torchaudio"}}`, "mel float32 [81, 128], label int64, key text"},
		{second + `{"log_mel":{"preset":"torchaudio","hop_length":160,"n_mels":40}}`, "mel float32 [101, 40], label int64, key text"},
		{files + `{"decode_audio":{"channels":1}},"log_mel"`, "mel float32 [?, 80], label int64, key text"},
		{files + `{"decode_audio":{"channels":1,"dtype":"int16"}},"log_mel"`, "mel float32 [?, 80], label int64, key text"},

		{files + `"decode_audio","log_mel"`, `step "log_mel" (#3): field is "audio", which is float32 [?, ?]: must be float32 or int16 [time]; give channels="mono" to decode_audio`},
		{second + `{"log_mel":{"field":"sound"}}`, `step "log_mel" (#3): field is "sound": the samples have the fields audio, label, key`},
		{second + `{"log_mel":{"to":"key"}}`, `step "log_mel" (#3): to is "key": the samples have a field of this name already`},
		{second + `{"log_mel":{"f_max":9000}}`, `step "log_mel" (#3): f_min and f_max must rise, from 0 to 8000, got 0 and 9000`},
		{second + `{"log_mel":{"win_length":401}}`, `step "log_mel" (#3): win_length must be from 2 to n_fft=400, got 401`},
		{second + `{"log_mel":{"n_fft":256,"win_length":400}}`, `step "log_mel" (#3): win_length must be from 2 to n_fft=256, got 400`},
		{files + `{"decode_audio":{"channels":1,"rate":16000,"duration":0.01}},"log_mel"`, `step "log_mel" (#3): mel: the recording is too short: it has 160 samples, a frame needs 201`},
	} {
		if got := checked(c.steps); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.steps, got, c.want)
		}
	}
}
