package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
)

// written are the pixels of batches 0 to 5, as headrace run writes them.
func written(t *testing.T, folder string) (images [][]byte) {
	t.Helper()
	if got := invoke(t, folder, "run", "r.yaml", "--epochs", "2", "--out", "npy:whole"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	array, err := os.ReadFile(filepath.Join(folder, "whole", "image.npy"))
	const picture = 8 * 8 * 3
	if err != nil || len(array) != 128+40*picture {
		t.Fatal(len(array), err)
	}
	array = array[128:]
	for _, rows := range []int{8, 8, 4, 8, 8, 4} {
		images = append(images, array[:rows*picture])
		array = array[rows*picture:]
	}
	return images
}

// trained runs the recipe in a folder for some batches, and returns their keys with the
// states before each, and the last.
func trained(t *testing.T, folder string, c headrace.Config, n int) (keys [][]string, states []headrace.State) {
	t.Helper()
	program(t) // is built where the sources are
	t.Chdir(folder)
	f, err := recipe.ReadFile("r.yaml", recipe.Variables{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := headrace.Open(t.Context(), f.Recipe, c, headrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Start(l.Info().State, nil); err != nil {
		t.Fatal(err)
	}
	states = append(states, l.State())
	for len(keys) < n {
		b, err := l.Next(context.Background())
		if err != nil {
			continue // an epoch's end
		}
		keys = append(keys, slices.Clone(b.Text("key")))
		b.Release()
		states = append(states, l.State())
	}
	return keys, states
}

func saveJSON(t *testing.T, name string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(name, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Every batch of a run comes out again from every state before it, to the byte, with
// the names of its rows.
func TestReplay(t *testing.T) {
	folder := photographs(t, "")
	images := written(t, folder)
	keys, states := trained(t, folder, headrace.Config{Epochs: new(2)}, 6)
	for from, state := range states[:6] {
		saveJSON(t, filepath.Join(folder, "state.json"), state)
		for n := 0; from+n < 6; n += 2 {
			got := invoke(t, folder, "replay", "r.yaml", "--state", "state.json", "--batch", fmt.Sprint(n), "--json")
			var told replayed
			if err := json.Unmarshal([]byte(got.stdout), &told); err != nil || got.code != 0 {
				t.Fatalf("%+v: %v", got, err)
			}
			if want := fmt.Sprintf("%x", sha256.Sum256(images[from+n])); told.Fields[0].Name != "image" || told.Fields[0].SHA256 != want {
				t.Errorf("%d after %d: %+v, want %s", n, from, told.Fields, want)
			}
			for i, row := range told.Rows {
				if string(row.Key) != keys[from+n][i] || row.Source != "files" || row.Epoch != (from+n)/3 || row.Position != int64(8*((from+n)%3)+i) || len(row.Draws) != 1 {
					t.Errorf("%d after %d: %+v, want %s", n, from, row, keys[from+n][i])
				}
			}
			if told.Epoch != (from+n)/3 || told.Step != int64((from+n)%3) || len(told.Rows) != len(keys[from+n]) {
				t.Errorf("%d after %d: epoch %d, step %d, %d rows", n, from, told.Epoch, told.Step, len(told.Rows))
			}
		}
	}
}

func TestReplayWritesTheRowsAndAPageForPeople(t *testing.T) {
	folder := photographs(t, "")
	images := written(t, folder)
	keys, states := trained(t, folder, headrace.Config{}, 4)
	saveJSON(t, filepath.Join(folder, "state.json"), states[1])
	got := invoke(t, folder, "replay", "r.yaml", "--state", "state.json", "-n", "2", "--out", "npy:out")
	if got.code != 0 || !strings.Contains(got.stdout, "Epoch 1, batch 0, 8 samples") || !strings.Contains(got.stdout, "random_resized_crop height=") || !strings.Contains(got.stdout, keys[3][7]) {
		t.Fatalf("%+v", got)
	}
	array, err := os.ReadFile(filepath.Join(folder, "out", "image.npy"))
	if err != nil || !bytes.HasSuffix(array, images[3]) || len(array) != len(images[3])+128 {
		t.Errorf("%d bytes of an array (%v)", len(array), err)
	}
	for _, flags := range [][]string{{}, {"--overwrite"}} {
		got := invoke(t, folder, append([]string{"replay", "r.yaml", "--state", "state.json", "--out", "npy:out"}, flags...)...)
		if (got.code == 0) != (len(flags) > 0) || len(flags) == 0 && !strings.Contains(got.stderr, "--overwrite") {
			t.Errorf("%v: %+v", flags, got)
		}
	}
	got = invoke(t, folder, "replay", "r.yaml", "--state", "state.json", "--out", "tar:shards/%d.tar", "--images", "png")
	if _, err := os.Stat(filepath.Join(folder, "shards/0.tar")); got.code != 0 || err != nil {
		t.Errorf("%+v: %v", got, err)
	}
}

// The states of all ranks tell of a batch under another number of them.
func TestReplayUnderAnotherWorldSize(t *testing.T) {
	folder := photographs(t, "")
	var records []headrace.State
	for rank := range 2 {
		_, states := trained(t, folder, headrace.Config{WorldSize: 2, Rank: rank}, 1)
		records = append(records, states[1])
	}
	saveJSON(t, filepath.Join(folder, "all.json"), records)
	got := invoke(t, folder, "replay", "r.yaml", "--state", "all.json", "--rank", "0", "--world-size", "1", "--json")
	var told replayed
	if err := json.Unmarshal([]byte(got.stdout), &told); err != nil || len(told.Rows) != 4 {
		t.Fatalf("of 20 samples 16 were had: %+v: %v", got, err)
	}
	got = invoke(t, folder, "replay", "r.yaml", "--state", "all.json", "--rank", "1", "--world-size", "2", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &told); err != nil || len(told.Rows) != 2 {
		t.Fatalf("%+v: %v", got, err)
	}
}

func TestReplayRefusesWhatItCannotFind(t *testing.T) {
	folder := photographs(t, "")
	_, states := trained(t, folder, headrace.Config{WorldSize: 2}, 1)
	saveJSON(t, filepath.Join(folder, "one.json"), states[1])
	other := states[1]
	other.Recipe = "another"
	saveJSON(t, filepath.Join(folder, "other.json"), other)
	for name, text := range map[string]string{"none.json": "[]", "number.json": "7", "cut.json": `{"epoch":`, "epoch.json": `{"epoch":3}`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"":                            `required flag(s) "state" not set`,
		"--state gone.json":           "--state: open gone.json",
		"--state none.json":           "this is not a loader state",
		"--state epoch.json":          "this is not a loader state",
		"--state number.json":         "--state number.json: json: cannot unmarshal",
		"--state cut.json":            "--state cut.json: ",
		"--state one.json --batch -1": "--batch is -1",
		"--state one.json --world-size 1 --rank 0": "there is none of rank 1",
		"--state one.json --world-size 2 --rank 2": "rank is 2",
		"--state other.json":                       "it was saved with another seed",
		"--state one.json --shard-size 5MB":        "--shard-size has no meaning without --out",
	} {
		got := invoke(t, folder, append([]string{"replay", "r.yaml"}, strings.Fields(args)...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v\nwant %s", args, got, want)
		}
	}
}
