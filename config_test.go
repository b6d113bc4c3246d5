package headrace

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestConfigRefusals(t *testing.T) {
	for text, want := range map[string]string{
		`{"epochs":-1}`:                        "epochs is -1",
		`{"rank":2,"world_size":2}`:            "rank is 2: takes 0 to 1",
		`{"rank":-1}`:                          "rank is -1",
		`{"world_size":-2}`:                    "world_size is -2",
		`{"local_world_size":-1}`:              "local_world_size is -1",
		`{"workers":0}`:                        "workers is 0: takes 1 to 256",
		`{"workers":257}`:                      "workers is 257",
		`{"order":"random"}`:                   `order is "random": takes "input" or "completion"`,
		`{"on_error":"ignore"}`:                `on_error is "ignore"`,
		`{"memory":0}`:                         "memory is 0",
		`{"hold_limit":-5}`:                    "hold_limit is -5",
		`{"prefetch":-1}`:                      "prefetch is -1",
		`{"max_errors":5}`:                     "max_errors has no meaning",
		`{"on_error":"skip","max_errors":-1}`:  "max_errors is -1",
		`{"on_error":"skip","max_errors":1.5}`: "max_errors is 1.5: a rate lies in (0, 1]",
		`{"on_error":"skip","max_errors":"x"}`: "takes a whole number of samples or a rate",
		`{"on_error":"skip","world_size":2}`:   "ranks could yield different numbers of batches",
		`{"wrokers":2}`:                        `unknown field "wrokers"`,
	} {
		if _, err := ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}

func TestConfigSaysAllItsMistakes(t *testing.T) {
	_, err := ParseConfig([]byte(`{"rank":-1,"workers":0,"order":"x"}`))
	for _, want := range []string{"rank", "workers", "order"} {
		if err == nil || !strings.Contains(err.Error(), want+" is") {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

func TestMaxErrors(t *testing.T) {
	for text, want := range map[string]int{`null`: 40, `0`: 0, `7`: 7, `0.5`: 2000, `1.0`: 4000, `1e-3`: 4, `0.00725`: 29, `0.0`: 0} {
		var m MaxErrors
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		if got := m.limit(4000); got != want {
			t.Errorf("max_errors %s of 4000 samples tolerates %d, expected %d", text, got, want)
		}
		again, err := json.Marshal(m)
		var m2 MaxErrors
		if err != nil || json.Unmarshal(again, &m2) != nil || m2 != m {
			t.Errorf("%s was written as %s", text, again)
		}
	}
	for _, c := range []struct {
		m         MaxErrors
		n         int64
		tolerated int
	}{
		{MaxErrors{}, 100, 10}, // at least
		{MaxErrors{}, 1400, 14},
		{MaxErrors{}, 1401, 15},
		{ErrorRate(0.29), 100, 29}, // though 0.29*100 is 28.999999999999996
		{ErrorRate(0.57), 100, 57},
		{ErrorRate(0.57), 101, 57},
		{ErrorRate(1), 1 << 40, 1 << 40},
	} {
		if got := c.m.limit(c.n); got != c.tolerated {
			t.Errorf("%+v tolerates %d of %d samples, expected %d", c.m, got, c.n, c.tolerated)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(`{"epochs":1,"on_error":"skip","max_errors":0.1}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig([]byte(text))
		if err == nil && c.Check() != nil {
			t.Fatal("accepted, and then refused")
		}
	})
}
