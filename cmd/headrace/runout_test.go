package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/tier"
)

// tree is every file below a folder.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

func sameTree(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s is another: %d bytes, want %d", name, len(got[name]), len(want[name]))
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d files, want %d", len(got), len(want))
	}
}

func TestRunWrites(t *testing.T) {
	folder := photographs(t, "")
	for _, c := range []struct{ out, flag, says, manifest string }{
		{"tar:new/folder/train-%06d.tar", "--shard-samples=8", "in 3 files: new/folder/train-000000.tar … train-000002.tar\n", "train.manifest.json"},
		{"tar:one/one-%d.tar", "--shard-size=1GB", "in 1 file: one/one-0.tar\n", "one.manifest.json"},
		{"npy:arrays", "--checkpoint=0s", "in 3 files: arrays\n", "manifest.json"},
	} {
		got := invoke(t, folder, "run", "r.yaml", "--out", c.out, c.flag)
		if got.code != 0 || !strings.Contains(got.stdout, "\nWrote 20 samples, ") || !strings.HasSuffix(got.stdout, c.says) || !strings.HasPrefix(got.stderr, "epoch 1 of 1: 20 samples") {
			t.Errorf("%+v", got)
		}
		_, where, _ := strings.Cut(c.out, ":")
		if strings.HasPrefix(c.out, "tar:") {
			where = filepath.Dir(where)
		}
		before := tree(t, filepath.Join(folder, where))
		if before[c.manifest] == "" {
			t.Errorf("%s is missing", c.manifest)
		}

		got = invoke(t, folder, "run", "r.yaml", "--out", c.out, c.flag)
		if got.code != 0 || !strings.HasPrefix(got.stdout, "Wrote 20 samples") || got.stderr != "all has been written already; --overwrite begins again\n" {
			t.Errorf("again: %+v", got)
		}
		got = invoke(t, folder, "run", "r.yaml", "--out", c.out, c.flag, "--set", "size=9")
		if got.code != exitUsage || !strings.HasPrefix(got.stderr, "headrace: --out: something else is there: another run wrote to ") || !strings.Contains(got.stderr, "the recipe, its variables or its seed") {
			t.Errorf("another recipe: %+v", got)
		}
		sameTree(t, tree(t, filepath.Join(folder, where)), before)
		got = invoke(t, folder, "run", "r.yaml", "--out", c.out, c.flag, "--overwrite", "-q")
		if got != (outcome{}) {
			t.Errorf("overwriting: %+v", got)
		}
		sameTree(t, tree(t, filepath.Join(folder, where)), before)
	}
}

func TestRunTellsProgramsWhatItWrote(t *testing.T) {
	folder := photographs(t, "")
	all := happened(t, invoke(t, folder, "run", "r.yaml", "--out", "npy:x", "--json").stdout)
	written := all[len(all)-1]["out"].(map[string]any)
	if written["samples"] != 20.0 || len(written["files"].([]any)) != 3 || all[0]["written"] != 0.0 {
		t.Errorf("%v", written)
	}
	all = happened(t, invoke(t, folder, "run", "r.yaml", "--out", "npy:x", "--json").stdout)
	if kinds(all) != "start end" || all[0]["written"] != 20.0 || all[1]["samples"] != 0.0 || all[1]["out"] == nil {
		t.Errorf("%v", all)
	}
}

// many is a recipe of a few hundred batches, and the arguments that have it written in
// many pieces.
func many(t *testing.T, loader string) string {
	t.Helper()
	folder := photographs(t, "")
	recipeIn(t, folder, `headrace: 1
steps:
  - files: {pattern: "class*/*.jpg", label: parent}
  - shuffle
  - decode_image
  - random_resized_crop: {size: 6}
  - random_flip
  - batch: {size: 7}
`+loader)
	return folder
}

// However often it is killed, and whenever: whoever gives the same command until it
// succeeds, has the same files.
func TestRunIsKilled(t *testing.T) {
	for _, out := range []string{"tar:%/a-%03d.tar", "npy:%"} {
		folder := many(t, "loader: {epochs: 60, on_error: skip}")
		os.WriteFile(filepath.Join(folder, "class1", "bad.jpg"), []byte("no picture"), 0o644)
		args := func(dir string) []string {
			return []string{"run", "r.yaml", "--checkpoint", "1ms", "--json", "--out", strings.Replace(out, "%", dir, 1)}
		}
		if strings.HasPrefix(out, "tar:") {
			plain := args
			args = func(dir string) []string { return append(plain(dir), "--shard-samples", "50") }
		}
		begun := time.Now()
		if got := invoke(t, folder, args("whole")...); got.code != exitLost {
			t.Fatalf("%+v", got)
		}
		took := time.Since(begun)
		kills, went := 0, map[float64]bool{}
		for {
			c := exec.Command(program(t), args("cut")...)
			c.Dir = folder
			var said strings.Builder
			c.Stdout = &said
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			kill := time.AfterFunc(time.Duration(rand.Int64N(int64(took/8+1))), func() { c.Process.Kill() })
			if kills >= tier.Cases(6, 25) {
				kill.Stop()
			}
			c.Wait()
			kill.Stop()
			if all := strings.SplitAfter(said.String(), "\n"); len(all) > 1 {
				went[happened(t, all[0])[0]["written"].(float64)] = true
			}
			if c.ProcessState.Exited() {
				if code := c.ProcessState.ExitCode(); code != exitLost {
					t.Fatalf("exit code %d: %s", code, said.String())
				}
				break
			}
			kills++
		}
		t.Logf("%s: %d kills; went on at %d places", out, kills, len(went))
		if kills < 3 {
			t.Errorf("it was killed %d times only", kills)
		}
		sameTree(t, tree(t, filepath.Join(folder, "cut")), tree(t, filepath.Join(folder, "whole")))
	}
}

// Ctrl-C loses nothing at all.
func TestRunThatWritesIsInterrupted(t *testing.T) {
	c, out, words := endless(t, "--out", "npy:x", "--checkpoint", "1h")
	for range 3 {
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	c.Process.Signal(os.Interrupt)
	for {
		if _, err := out.ReadString('\n'); err != nil {
			break
		}
	}
	c.Wait()
	if c.ProcessState.ExitCode() != exitInterrupted || !strings.Contains(words.String(), " samples are written and safe: the same command goes on from there") {
		t.Errorf("%s", words)
	}
	dir := tree(t, filepath.Join(c.Dir, "x"))
	if dir["journal.json"] == "" || dir["image.npy.part"] == "" || len(dir) != 4 {
		t.Errorf("there are %d files", len(dir))
	}
}

// A disk that is full, here a limit of file sizes, is reported with the file's name; what
// was safe stays, and the run goes on when there is room.
func TestRunWithoutRoom(t *testing.T) {
	for out, limit := range map[string]string{"npy:x": "40", "tar:x/a-%03d.tar": "400"} { // blocks of 512 bytes
		folder := many(t, "loader: {epochs: 20}")
		c := exec.Command("sh", "-c", `ulimit -f `+limit+`; exec "$0" run r.yaml -q --checkpoint 0s --out `+out, program(t))
		c.Dir = folder
		said, _ := c.CombinedOutput()
		if c.ProcessState.ExitCode() != exitFailed || !strings.HasPrefix(string(said), "headrace: --out: write x/") || !strings.Contains(string(said), ".part: file too large; ") ||
			!strings.Contains(string(said), "the same command goes on from there") {
			t.Errorf("%s", said)
		}
		if got := invoke(t, folder, "run", "r.yaml", "--out", out); got.code != 0 || !strings.HasPrefix(got.stderr, "going on after ") {
			t.Errorf("%+v", got)
		}
		whole := strings.Replace(out, "x", "whole", 1)
		if got := invoke(t, folder, "run", "r.yaml", "-q", "--out", whole); got.code != 0 {
			t.Errorf("%+v", got)
		}
		sameTree(t, tree(t, filepath.Join(folder, "x")), tree(t, filepath.Join(folder, "whole")))
	}
}

func TestRunWhereNothingCanBeWritten(t *testing.T) {
	folder := photographs(t, "")
	got := invoke(t, folder, "run", "r.yaml", "--out", "npy:r.yaml/x")
	if got.code != exitFailed || !strings.HasPrefix(got.stderr, "headrace: --out: mkdir r.yaml: not a directory") {
		t.Errorf("%+v", got)
	}
	os.Mkdir(filepath.Join(folder, "x"), 0o755)
	os.WriteFile(filepath.Join(folder, "x", "image.npy"), []byte("precious"), 0o644)
	got = invoke(t, folder, "run", "r.yaml", "--out", "npy:x")
	if got.code != exitUsage || !strings.Contains(got.stderr, "x/image.npy exists, and nothing says that this command wrote it") {
		t.Errorf("%+v", got)
	}
}

func TestRunWritesNothingByArrival(t *testing.T) {
	folder := phototest.Folder(t, 2)
	recipeIn(t, folder, `headrace: 1
steps:
  - merge: {order: arrival, of: [[files: {pattern: class0}], [files: {pattern: class1}]]}
  - decode_image
  - center_crop: {size: 8}
  - batch: {size: 2}
`)
	got := invoke(t, folder, "run", "r.yaml", "--out", "npy:x")
	if got.code != exitUsage || !strings.Contains(got.stderr, "--out with a merge by arrival (merge): a run that goes on could not end with the same files; use the order round_robin") {
		t.Errorf("%+v", got)
	}
	if got := invoke(t, folder, "run", "r.yaml"); got.code != exitDone {
		t.Errorf("%+v", got)
	}
}

// A sample that fails leaves what came before it; once it is left out, the run goes on
// there.
func TestRunThatWritesFails(t *testing.T) {
	folder := many(t, "loader: {epochs: 3}")
	os.WriteFile(filepath.Join(folder, "class1", "zzz.jpg"), []byte("no picture"), 0o644)
	got := invoke(t, folder, "run", "r.yaml", "--out", "npy:x")
	if got.code != exitFailed || !strings.HasPrefix(got.stderr, "headrace: class1/zzz.jpg: ") || !strings.Contains(got.stderr, "written and safe") {
		t.Fatalf("%+v", got)
	}
	got = invoke(t, folder, "run", "r.yaml", "--out", "npy:x", "--on-error", "skip")
	if got.code != exitLost || !strings.Contains(got.stdout, "Wrote 60 samples") || !strings.HasSuffix(got.stdout, "; 3 lost\n") {
		t.Errorf("%+v", got)
	}
	got = invoke(t, folder, "run", "r.yaml", "--out", "npy:whole", "--on-error", "skip", "-q")
	if got.code != exitLost {
		t.Errorf("%+v", got)
	}
	sameTree(t, tree(t, filepath.Join(folder, "x")), tree(t, filepath.Join(folder, "whole")))
}
