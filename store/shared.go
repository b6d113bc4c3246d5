package store

import (
	"context"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/node"
)

// listOnce lists, or hears of the listing that another process of this node is making
// just now, as the ranks of a training begin at the same time. So all have the same, too.
func listOnce(ctx context.Context, s *stretches, others *kinds, named string, suffixes []string) (*builder, error) {
	w := &listWork{ctx: ctx, stretches: s, others: others}
	if ctx.Value(giverKey{}) != nil { // other credentials may find other objects
		err := w.Do()
		return w.found, err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q", named, suffixes, settings())
	err := node.Once(ctx, fmt.Sprintf("list %x", sum.Sum(nil)), w)
	return w.found, err
}

// settings returns the variables of the environment that decide the meaning of a name,
// and the credentials.
func settings() (all []string) {
	of := []string{"AWS_", "AZURE_", "GOOGLE_", "CLOUDSDK_", "STORAGE_", "HF_", "HUGGING", "HOME=", "NETRC=", "XDG_CACHE_HOME="}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		isProxy := strings.HasSuffix(strings.ToLower(name), "_proxy")
		if isProxy || slices.ContainsFunc(of, func(begin string) bool { return strings.HasPrefix(v, begin) }) {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

// listWork implements [node.Work].
type listWork struct {
	ctx       context.Context
	stretches *stretches
	others    *kinds
	found     *builder
}

// Do implements [node.Work].
func (w *listWork) Do() (err error) {
	w.found, err = w.stretches.list(w.ctx)
	return err
}

// listed is a listing as other processes get it.
type listed struct {
	Schemes  bool
	Folders  []string
	FolderOf []uint32
	Names    []byte
	Ends     []uint32
	Versions []uint64

	Others   int
	BySuffix map[string]int
}

// Tell implements [node.Work].
func (w *listWork) Tell(to io.Writer) error {
	t := &w.found.t
	return gob.NewEncoder(to).Encode(listed{t.schemes, t.folders, t.folderOf, t.names, t.ends, t.versions, w.others.all, w.others.bySuffix})
}

// Hear implements [node.Work].
func (w *listWork) Hear(from io.Reader) error {
	var l listed
	if err := gob.NewDecoder(from).Decode(&l); err != nil {
		return err
	}
	w.others.all, w.others.bySuffix = l.Others, l.BySuffix
	w.found = newBuilder("")
	w.found.t = Table{schemes: l.Schemes, folders: l.Folders, folderOf: l.FolderOf, names: l.Names, ends: l.Ends, versions: l.Versions}
	return nil
}
