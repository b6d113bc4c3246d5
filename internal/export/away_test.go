package export

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// fragile is a store whose writes can fail.
type fragile struct {
	storetest.Memory
	err error
}

func (f *fragile) Put(ctx context.Context, name string, content io.ReaderAt, size int64, c store.Condition) (store.Object, error) {
	if f.err != nil {
		return store.Object{}, f.err
	}
	return f.Memory.Put(ctx, name, content, size, c)
}

// TestJournalsAwayAreOurs: a journal that another run has written is not replaced, also
// after a write of our own has failed.
func TestJournalsAwayAreOurs(t *testing.T) {
	s := new(fragile)
	store.Register("fragile", s)
	a, err := openAway("fragile://b/out")
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	if err := os.WriteFile(filepath.Join(a.local, "journal.json"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.note("journal.json"); err != nil {
		t.Fatal(err)
	}
	s.err = errors.New("the store is gone")
	if err := a.note("journal.json"); !errors.Is(err, s.err) {
		t.Error(err)
	}
	s.err = nil
	s.Set("b/out/journal.json", []byte("theirs"))
	if err := a.note("journal.json"); !errors.Is(err, ErrBusy) {
		t.Errorf("it is replaced: %v", err)
	}
}
