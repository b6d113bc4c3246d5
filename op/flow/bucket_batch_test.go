package flow_test

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/recipetest"
)

// refused says what is wrong with a step after these steps, which it has to be.
func refused(t *testing.T, steps string) string {
	t.Helper()
	_, err := recipetest.Labelled(t, steps).Check()
	if err == nil {
		t.Fatalf("%s is accepted", steps)
	}
	return strings.ReplaceAll(err.Error(), "recipe: ", "")
}

func TestSecondsNeedARate(t *testing.T) {
	const unknown = " is not known: give decode_audio a rate, and bucket_batch what it gives, or its spectrogram, " +
		"or use tokens, which counts elements: 60 seconds at 16,000 are tokens=960000"
	const sound, two = `{"decode_audio":{"channels":1,"rate":8000,"to":"a"}},`,
		`{"map":{"function":"m:f","fields":["a"],"to":["b"],"gives":{"b":{"dtype":"int32","shape":[null]}}}},`
	for steps, want := range map[string]string{
		tokens + `{"bucket_batch":{"lengths":[3],"seconds":60}}`: `(#3): seconds is given, and the rate of "tokens"` + unknown,
		`{"decode_audio":{"channels":1}},{"bucket_batch":{"lengths":[9],"seconds":60}}`: `(#3): seconds is given, and the rate of "audio"` +
			unknown,
		sound + two + `{"bucket_batch":{"lengths":[9],"seconds":60,"by":"b"}}`: `(#4): seconds is given, and the rate of "b"` + unknown,
		sound + two + `{"bucket_batch":{"lengths":[9],"seconds":60}}`: `(#4): seconds is given, and samples have the sequences a, b: ` +
			`by says whose length counts`,
		sound + `{"bucket_batch":{"lengths":[8000,16001],"seconds":2}}`: `(#3): seconds is 2: a single sample of length 16001 is more`,
		sound + `{"bucket_batch":{"lengths":[8000],"seconds":-1}}`:      `(#3): seconds is -1: must be from 0.001 to 86400`,
	} {
		if got := refused(t, steps); got != `step "bucket_batch" `+want {
			t.Errorf("%s: %s, want %s", steps, got, want)
		}
	}
}

func TestAFunctionOfBucketsPadsItself(t *testing.T) {
	const collate = `{"bucket_batch":{"lengths":[3],"size":2,"collate":{"function":"m:f"}`
	for steps, want := range map[string]string{
		`,"pad":1}}`:               "pad is given with collate, which pads as it likes: leave one of them out",
		`,"pad_to":"longest"}}`:    "pad_to is given with collate, which pads as it likes: leave one of them out",
		`,"bytes":99}}`:            "bytes is given with collate, which makes arrays of any size: leave one of them out",
		`,"overlong":"truncate"}}`: `overlong is "truncate", and collate is passed whole samples: cut them there, or in a map before`,
		`},"failures":{"retries":1,"on_error":"replace"}}`: `failures.on_error is "replace": ` +
			`collate fails for a whole batch, and no other batch can replace it: use raise or skip`,
	} {
		if got := refused(t, tokens+collate+steps); got != `step "bucket_batch" (#3): `+want {
			t.Errorf("%s: %s, want %s", steps, got, want)
		}
	}
}
