package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/state"
)

// What is between the given samples of a source was read, and is read again.
func TestInspectAState(t *testing.T) {
	folder := photographs(t, "")
	at := func(position int64, ahead ...[2]int64) state.Source {
		return state.Source{Samples: 5000, Position: position, Ahead: ahead}
	}
	one := headrace.State{
		Version: headrace.StateVersion, Order: order.Version, WorldSize: 2, Rank: 1, Epoch: 3, Batches: 7,
		Steps: []string{"files(pattern=\"a b\") e919feee", "pack(length=64) 78fd16ff"}, Quarantine: []int64{17},
		Sources: map[string]state.Source{
			"files@2": at(10, [2]int64{14, 20}, [2]int64{21, 22}), "files@10": at(8), "files@3": at(9, [2]int64{11, 12}),
			"live": {Position: 60, Object: &headrace.ObjectState{Position: 48}, Lost: []int64{3}},
		},
	}
	saveJSON(t, filepath.Join(folder, "one.json"), one)
	got := invoke(t, folder, "inspect", "one.json")
	const want = `Epoch 3, after 7 batches
  files(pattern="a b")
  pack(length=64)
Rank 1 of 2
  files, lanes 2 to 10: 35 samples done, 7 to read again, of 5,000
  live: 60 samples done, 12 to read again, 1 lost
  1 sample never tried again, for they crashed an engine
A restore reads 19 samples again: they were read, and are in no batch that was
given.
`
	if got.code != 0 || got.stdout != want {
		t.Errorf("%+v\nwant %s", got, want)
	}

	saveJSON(t, filepath.Join(folder, "all.json"), []headrace.State{one, one})
	var told inspectedState
	got = invoke(t, folder, "inspect", "all.json", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &told); err != nil || told.Again != 38 || len(told.Ranks) != 2 {
		t.Fatalf("%+v: %v", told, err)
	}
	lane := told.Ranks[0].Sources[0]
	if lane != (inspectedSource{Name: "files", Lane: 2, Samples: 5000, Position: 10, Beyond: 7, Again: 5}) {
		t.Errorf("%+v", lane)
	}
}

func TestInspectAStateBesideItsRecipe(t *testing.T) {
	folder := photographs(t, "")
	_, states := trained(t, folder, headrace.Config{WorldSize: 2, Rank: 1}, 1)
	saveJSON(t, filepath.Join(folder, "own.json"), states[1])
	got := invoke(t, folder, "inspect", "own.json", "--recipe", "r.yaml")
	const want = "files: 8 samples done, 0 to read again, of 20\nA restore goes on with the next sample"
	if got.code != 0 || !strings.Contains(got.stdout, want) {
		t.Errorf("%+v", got)
	}

	other, version, order := states[1], states[1], states[1]
	other.Recipe, version.Version, order.Order = "another", 1, 1
	saveJSON(t, filepath.Join(folder, "other.json"), other)
	saveJSON(t, filepath.Join(folder, "version.json"), version)
	saveJSON(t, filepath.Join(folder, "order.json"), order)
	for name, text := range map[string]string{"none.json": "[]", "cut.json": `{"epoch":`, "epoch.json": `{"epoch":3}`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"other.json --recipe r.yaml":  "it was saved with another seed",
		"version.json":                "has version 1, and this engine reads 2: go on with the release that saved it",
		"order.json":                  "has version 1 of the order",
		"epoch.json":                  "epoch.json: this is not a loader state",
		"none.json --recipe r.yaml":   "none.json: this is not a loader state",
		"gone.json --recipe r.yaml":   "open gone.json",
		"cut.json --recipe r.yaml":    "cut.json: invalid character ']'",
		"own.json --recipe gone.yaml": "gone.yaml cannot be read",
	} {
		got := invoke(t, folder, append([]string{"inspect"}, strings.Fields(args)...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v\nwant %s", args, got, want)
		}
	}
}

// Lanes have every fourth line. Of each, those are read again that are before the last
// one given, and were not given themselves.
func TestInspectTellsTheBytesThatAreReadAgain(t *testing.T) {
	folder := t.TempDir()
	var lines []string
	for i := range 200 {
		lines = append(lines, `{"tokens":[`+strings.Repeat("7,", i*2654435761%13)+"7]}")
	}
	text := strings.Join(lines, "\n")
	if err := os.WriteFile(filepath.Join(folder, "docs.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	recipeIn(t, folder, `headrace: 1
steps:
  - read: {from: docs.jsonl}
  - lanes: {count: 4}
  - pack: {length: 16, global_size: 4}
`)
	rows, states := trained(t, folder, headrace.Config{}, 3)

	given, last := map[int]bool{}, [4]int{}
	for _, row := range slices.Concat(rows...) {
		var keys []string
		if err := json.Unmarshal([]byte(row), &keys); err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(key, "docs.jsonl["), "]"))
			if err != nil {
				t.Fatal(err)
			}
			given[n], last[n%4] = true, max(last[n%4], n)
		}
	}
	var again, bytes int64
	for lane, end := range last {
		for n := lane; n < end; n += 4 {
			if !given[n] {
				again, bytes = again+1, bytes+int64(len(lines[n]))
			}
		}
	}

	saveJSON(t, filepath.Join(folder, "state.json"), states[3])
	var told inspectedState
	got := invoke(t, folder, "inspect", "state.json", "--recipe", "r.yaml", "--json")
	err := json.Unmarshal([]byte(got.stdout), &told)
	if err != nil || again == 0 || told.Again != again || told.Bytes == nil || *told.Bytes != bytes {
		t.Errorf("%+v, want %d samples of %d bytes", got, again, bytes)
	}
	got = invoke(t, folder, "inspect", "state.json", "--recipe", "r.yaml")
	want := fmt.Sprintf("A restore reads %d samples (%s) again:", again, bytesize.Text(bytes))
	if got.code != 0 || !strings.Contains(got.stdout, want) {
		t.Errorf("%+v, want %s", got, want)
	}
	got = invoke(t, folder, "inspect", "state.json", "--json")
	if got.code != 0 || !strings.Contains(got.stdout, `"again_bytes": null`) {
		t.Errorf("%+v", got)
	}
}
