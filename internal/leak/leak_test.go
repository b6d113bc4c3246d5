package leak

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/headrace/headrace/arena"
)

func TestWhatIsLeftIsNamed(t *testing.T) {
	before := count()
	file, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	a, err := arena.New(arena.Options{Slots: 1, SlotBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.Reserve(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := count().beyond(before)
	for _, want := range []string{"1 descriptors of /dev/zero", "1 processes", "1 segments"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

func TestNothingIsLeftOfWhatWasClosed(t *testing.T) {
	Check(t)
	before := count()
	file, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if got := count().beyond(before); got != "" {
		t.Fatal(got)
	}
}
