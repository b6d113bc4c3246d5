package headrace_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
)

func TestConfigRefusals(t *testing.T) {
	for text, want := range map[string]string{
		`{"epochs":-1}`:                        "epochs is -1",
		`{"rank":2,"world_size":2}`:            "rank is 2: must be from 0 to 1",
		`{"rank":-1}`:                          "rank is -1",
		`{"world_size":-2}`:                    "world_size is -2",
		`{"local_world_size":-1}`:              "local_world_size is -1",
		`{"workers":0}`:                        "workers is 0: must be from 1 to 256",
		`{"workers":257}`:                      "workers is 257",
		`{"order":"random"}`:                   `order is "random": must be "input" or "completion"`,
		`{"on_error":"ignore"}`:                `on_error is "ignore"`,
		`{"memory":0}`:                         "memory is 0",
		`{"hold_limit":-5}`:                    "hold_limit is -5",
		`{"prefetch":-1}`:                      "prefetch is -1",
		`{"max_errors":5}`:                     "max_errors has no meaning",
		`{"on_error":"skip","max_errors":-1}`:  "max_errors is -1",
		`{"on_error":"skip","max_errors":1.5}`: "max_errors is 1.5: a rate must be in (0, 1]",
		`{"on_error":"skip","max_errors":"x"}`: "must be a whole number of samples or a rate",
		`{"on_error":"skip","world_size":2}`:   "ranks could yield different numbers of batches",
		`{"wrokers":2}`:                        `headrace: unknown key "wrokers": did you mean "workers"? the keys are epochs, rank,`,
		`{"epochs":"1"}`:                       `headrace: epochs is "1": must be a whole number`,
		`{"epochs":1.5}`:                       `headrace: epochs is 1.5: must be a whole number`,
		`{"memory":"2GiB"}`:                    `headrace: memory is "2GiB": must be a number of bytes`,
		`{"order":3}`:                          `headrace: order is 3: must be text`,
		`{"fuse":1}`:                           `headrace: fuse is 1: must be true or false`,
		`{"epochs":1,"epochs":2}`:              `headrace: epochs is given twice`,
		`{"Epochs":1}`:                         `headrace: unknown key "Epochs": did you mean "epochs"?`,
		`[1]`:                                  `headrace: the configuration is not a JSON object`,
		``:                                     `headrace: the configuration is not a JSON object`,
		`{"epochs":1`:                          `headrace: the configuration is not valid JSON`,
		`{"epochs":}`:                          `headrace: the configuration is not valid JSON: `,
		`{"epochs":1} {}`:                      `headrace: the configuration is not valid JSON: something follows its object`,
		`{"memory":` + strings.Repeat("1", 99) + `}`: `headrace: memory is ` + strings.Repeat("1", 60) + `…: must be a number of bytes`,
	} {
		if _, err := ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}

// What is wrong with the section "loader" of a recipe is reported with its place, and
// what has no place there, with the reason.
func TestConfigOfAFile(t *testing.T) {
	const head = "headrace: 1\nvars: {amount: 1 GiB, n: 7}\nsteps: [{files: {pattern: data}}]\n"
	read := func(loader string) (Config, error) {
		f, err := recipe.Read("r.yaml", []byte(head+loader), recipe.Variables{})
		if err != nil {
			t.Fatal(err)
		}
		return FileConfig(f)
	}
	if c, err := read(""); err != nil || c != (Config{}) {
		t.Errorf("without a section: %+v, %v", c, err)
	}
	c, err := read(`loader: {epochs: "${n}", memory: "${amount}", hold_limit: 2048, on_error: skip, max_errors: 1.0, order: completion, workers: null}`)
	if err != nil || *c.Epochs != 7 || *c.Memory != 1<<30 || *c.HoldLimit != 2048 || c.OnError != Skip || c.MaxErrors != ErrorRate(1) || c.Order != CompletionOrder || c.Workers != nil {
		t.Errorf("%+v, %v", c, err)
	}
	for loader, want := range map[string]string{
		"loader:\n  epochs: many":  `r.yaml:5:11: loader: epochs is "many": must be a whole number`,
		"loader:\n  memory: much":  `r.yaml:5:11: loader: memory is "much": must be a number of bytes, at least 1, such as 1073741824, 512MiB or 2GB`,
		"loader:\n  memory: [1]":   `r.yaml:5:11: loader: memory is [1]: must be a number of bytes`,
		"loader:\n  wrokers: 3":    `r.yaml:5:3: loader: unknown key "wrokers": did you mean "workers"? the keys are epochs, workers, order, memory, hold_limit, on_error, max_errors, steps_per_epoch, uneven, stall_after, prefetch, tune, fuse, jpeg, dead_letters`,
		"loader:\n  max_errors: 3": `r.yaml:5:15: loader: max_errors has no meaning with on_error="raise": the first bad sample stops the run; use on_error="skip"`,
		"loader:\n  fuse: yes":     `r.yaml:5:9: loader: fuse is "yes": must be true or false`,
		"loader: {a: 1, a: 2}": "r.yaml:4:16: loader: unknown key \"a\": the keys are epochs, workers, order, memory, hold_limit, on_error, max_errors, steps_per_epoch, uneven, stall_after, prefetch, tune, fuse, jpeg, dead_letters\n" +
			"r.yaml:4:16: loader: a is given twice",
		"loader: {memory: 1.0, workers: ']'}": `r.yaml:4:18: loader: memory is 1.0: must be a number of bytes
r.yaml:4:32: loader: workers is "]": must be a whole number`,
		"loader: {fuse: false, fuse: true}": `r.yaml:4:23: loader: fuse is given twice`,
		"loader:\n  rank: 0":                `r.yaml:5:3: loader: rank has no place in a recipe: each process has its own; Python takes it from RANK in the environment`,
		"loader: {world_size: 2, local_world_size: 2}": `r.yaml:4:10: loader: world_size has no place in a recipe: it belongs to the processes that share the data; Python takes it from WORLD_SIZE in the environment
r.yaml:4:25: loader: local_world_size has no place in a recipe: it belongs to the machine that runs it; Python takes it from LOCAL_WORLD_SIZE in the environment`,
	} {
		c, err := read(loader)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "\n") != strings.Count(want, "\n") || c != (Config{}) {
			t.Errorf("%s:\ngot  %v\nwant %s", loader, err, want)
		}
		if m := (*Mistake)(nil); !errors.As(err, &m) || m.Line < 4 || m.Key == "" || m.Unwrap() == nil {
			t.Errorf("%s: the mistake is %+v", loader, m)
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

func FuzzParseConfig(f *testing.F) {
	f.Add(`{"epochs":1,"on_error":"skip","max_errors":0.1}`)
	f.Add(`{"memory":"1.5 GiB","rank":1,"rank":null,"fuse":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig([]byte(text))
		if err == nil && c.Check() != nil {
			t.Fatal("accepted, and then refused")
		}
		ofFile, err := FileConfig(recipe.File{Name: "r", Loader: json.RawMessage(text)})
		if err == nil && ofFile.Check() != nil {
			t.Fatal("accepted in a file, and then refused")
		}
		if m := (*Mistake)(nil); err != nil && (!errors.As(err, &m) || m.File != "r") {
			t.Fatalf("without the file: %v", err)
		}
	})
}
