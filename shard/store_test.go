package shard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/shardtest"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// inMemory are shards in a store whose scheme is named after the test.
func inMemory(t *testing.T, root string) (m *storetest.Memory, scheme string) {
	t.Helper()
	m, scheme = new(storetest.Memory), strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-")
	if err := m.PutAll("bucket/set/", os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	store.Register(scheme, m)
	return m, scheme + "://bucket/set"
}

// read returns all samples as text.
func read(t *testing.T, d *shard.Dataset, columns ...shard.Column) (all []string) {
	t.Helper()
	r, err := d.Select(t.Context(), columns...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Len() {
		values, err := shardtest.One(t.Context(), r, i)
		if err != nil {
			t.Fatal(err)
		}
		line := d.Key(i)
		for _, v := range values {
			line += fmt.Sprintf(" %q", v.Bytes)
		}
		all = append(all, line)
	}
	return all
}

// TestShardsOfAStore: they are what the same files are, by name, pattern and folder, and
// their index is kept.
func TestShardsOfAStore(t *testing.T) {
	root := set(t, 30, 1, 12)
	m, folder := inMemory(t, root)
	columns := []shard.Column{{From: "jpg;png"}, {From: "cls"}, {From: "json.text"}}
	want := read(t, open(t, root, "train-*.tar", shard.Options{}), columns...)
	for _, from := range []string{"/train-{000..002}.tar", "/*.tar", "", "/train-00[0-2].tar"} {
		before := m.Read()
		d := open(t, root, folder+from, shard.Options{})
		if from != "/train-{000..002}.tar" && m.Read() != before {
			t.Errorf("%s: %d bytes are read though the index is known", from, m.Read()-before)
		}
		if got := read(t, d, columns...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s gives\n%s, want\n%s", from, got, want)
		}
		if name, in := d.Place(30); name != folder+"/train-001.tar" || in != 0 {
			t.Errorf("sample 30 is in %s, %d", name, in)
		}
	}
	whole := open(t, root, strings.TrimSuffix(folder, "bucket/set"), shard.Options{}) // all that the store has
	if got := read(t, whole, columns...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the store's root gives %s", got)
	}
	// A folder of a store may be without a name.
	if err := m.PutAll("bucket/far//set/", os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	far := strings.TrimSuffix(folder, "set") + "far/"
	for _, from := range []string{"/set/train-{000..002}.tar", "/set/*.tar", "/*/*.tar", "/set", "/**/*.tar"} {
		d := open(t, root, far+from, shard.Options{})
		if got := read(t, d, columns...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s%s gives %s", far, from, got)
		}
		if name, _ := d.Place(30); name != far+"/set/train-001.tar" {
			t.Errorf("sample 30 is in %s", name)
		}
	}

	one := open(t, root, folder+"/train-001.tar", shard.Options{})
	if got := read(t, one, columns...); fmt.Sprint(got) != fmt.Sprint(want[30:31]) {
		t.Errorf("one shard gives %s", got)
	}
}

// TestStoresThatChange: a shard that was replaced is named, and indexed again by the next
// who opens it.
func TestStoresThatChange(t *testing.T) {
	t.Run("open", func(t *testing.T) { changes(t, true) })
	t.Run("closed", func(t *testing.T) { changes(t, false) })
}

func changes(t *testing.T, opens bool) {
	root := set(t, 5, 5)
	m, folder := inMemory(t, root)
	d := open(t, root, folder, shard.Options{})
	r, err := d.Select(t.Context(), shard.Column{From: "cls"})
	if err != nil {
		t.Fatal(err)
	}
	var opened shard.Place // the shard is in use when it is replaced, and later it is not
	if opens {
		if err := r.Locate(5, &opened); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Read(t.Context(), &opened, make([]byte, opened.Bytes)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "train-001.tar"), 7, 5)
	content, err := os.ReadFile(filepath.Join(root, "train-001.tar"))
	if err != nil {
		t.Fatal(err)
	}
	m.Set("bucket/set/train-001.tar", content)

	for i, changed := range map[int64]bool{0: false, 7: true} {
		_, err := shardtest.One(t.Context(), r, i)
		if errors.Is(err, shard.ErrChanged) != changed || changed && !strings.Contains(err.Error(), folder+"/train-001.tar") {
			t.Errorf("sample %d: %v", i, err)
		}
	}
	again := open(t, root, folder, shard.Options{})
	if key := again.Key(7); key != "07/00002" {
		t.Errorf("the new shard has %q", key)
	}
}

// TestStoresThatFail: errors name the shard, and say what is wrong.
func TestStoresThatFail(t *testing.T) {
	root := set(t, 5)
	m, folder := inMemory(t, root)
	scheme, _, _ := strings.Cut(folder, "://")
	for from, want := range map[string]error{
		folder + "/train-009.tar": fs.ErrNotExist,
		folder + "/none-*.tar":    store.ErrNoFiles,
		scheme + "://none":        fs.ErrNotExist,
		"nobodys://bucket/a.tar":  store.ErrScheme,
	} {
		_, err := shard.Open(t.Context(), []string{from}, shard.Options{Root: root})
		if !errors.Is(err, want) || !strings.Contains(err.Error(), strings.SplitAfter(from, "://")[0]) {
			t.Errorf("%s: %v, want %v", from, err, want)
		}
	}
	store.Register("readonly", struct{ store.Store }{m})
	_, err := shard.Open(t.Context(), []string{"readonly://bucket/set"}, shard.Options{Beside: true})
	if !errors.Is(err, shard.ErrUnsupported) || !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("an index beside: %v", err)
	}
	broken := &brokenStore{Memory: new(storetest.Memory)}
	content, err := os.ReadFile(filepath.Join(root, "train-000.tar"))
	if err != nil {
		t.Fatal(err)
	}
	broken.Set("a.tar", bytes.Clone(content))
	store.Register("broken", broken)
	if _, err := shard.Open(t.Context(), []string{"broken://a.tar"}, shard.Options{}); !errors.Is(err, errBroken) {
		t.Errorf("a store that cannot read: %v", err)
	}
}

var errBroken = errors.New("the line is cut")

// brokenStore finds objects, and cannot read them.
type brokenStore struct{ *storetest.Memory }

// ReadAt implements [store.Store].
func (*brokenStore) ReadAt(context.Context, store.Object, []byte, int64) error { return errBroken }

// TestAStoreThatHangs: neither a scan nor those who read wait for it longer than they
// must.
func TestAStoreThatHangs(t *testing.T) {
	m := &hangingStore{Memory: new(storetest.Memory), asked: make(chan struct{}, 8)}
	root := set(t, 5)
	content, err := os.ReadFile(filepath.Join(root, "train-000.tar"))
	if err != nil {
		t.Fatal(err)
	}
	m.Set("a.tar", content)
	store.Register("hanging", m)
	d := open(t, root, "hanging://a.tar", shard.Options{})
	r, err := d.Select(t.Context(), shard.Column{From: "cls"})
	if err != nil {
		t.Fatal(err)
	}

	m.hangs.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := shard.Open(ctx, []string{"hanging://a.tar"}, shard.Options{Force: true}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a scan of a store that hangs: %v", err)
	}
	read := make(chan error)
	go func() {
		_, err := shardtest.One(t.Context(), r, 0)
		read <- err
	}()
	<-m.asked // by the scan
	<-m.asked
	d.Close()
	if err := <-read; !errors.Is(err, context.Canceled) {
		t.Errorf("a read of a set that is closed: %v", err)
	}
}

// hangingStore answers until it hangs.
type hangingStore struct {
	*storetest.Memory
	hangs atomic.Bool
	asked chan struct{}
}

// ReadAt implements [store.Store].
func (h *hangingStore) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	if !h.hangs.Load() {
		return h.Memory.ReadAt(ctx, o, p, at)
	}
	select {
	case h.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return context.Cause(ctx)
}
