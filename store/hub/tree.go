package hub

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

const (
	pagesAtOnce = 16
	// Each folder is a request or more, and the Hub counts them: so many folders at most
	// are listed by themselves.
	mostFolders = 64
)

// tree lists the files below a folder, in any order, some of them twice.
//
// A page has the address of the next one, so the pages of a folder come one after the
// other. If there are several, the folders in it are listed at the same time instead.
type tree struct {
	of     *Store
	in     repo
	places chan struct{} // of pages at once
	stop   context.CancelCauseFunc
	at     sync.WaitGroup

	mu    sync.Mutex // guards what is below
	files []file
}

// branch is a page of a folder's listing.
type branch struct {
	files   []file
	folders []string
	next    string // the path of the next page; "": there is none
	query   string
}

func (s *Store) tree(ctx context.Context, r repo, folder string) ([]file, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := &tree{of: s, in: r, places: make(chan struct{}, pagesAtOnce), stop: stop}
	t.begin(ctx, folder)
	t.at.Wait()
	return t.files, context.Cause(ctx)
}

func (t *tree) begin(ctx context.Context, folder string) {
	t.at.Go(func() {
		if err := t.folder(ctx, folder); err != nil {
			t.stop(err)
		}
	})
}

// folder lists all below a folder.
func (t *tree) folder(ctx context.Context, folder string) error {
	for n, path, query := 0, t.in.tree(folder), "recursive=true"; path != ""; n++ {
		b, err := t.page(ctx, path, query)
		if err != nil {
			return err
		}
		t.add(b.files)
		path, query = b.next, b.query
		if n == 0 && path != "" && len(b.folders) > 0 { // which the Hub has first
			if isDivided, err := t.divide(ctx, folder); isDivided || err != nil {
				return err
			}
		}
	}
	return nil
}

// divide has the folders of a folder listed at the same time, if they are few.
func (t *tree) divide(ctx context.Context, folder string) (bool, error) {
	b, err := t.page(ctx, t.in.tree(folder), "")
	if n := len(b.folders); err != nil || n == 0 || n > mostFolders || b.next != "" {
		return false, err
	}
	t.add(b.files)
	for _, one := range b.folders {
		if folder != "" && !strings.HasPrefix(one, folder+"/") || one == "" {
			return false, fmt.Errorf("hub: the listing of the %s has the folder %q in %q", t.in, one, folder)
		}
		t.begin(ctx, one)
	}
	return true, nil
}

func (t *tree) add(files []file) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.files = append(t.files, files...)
}

// page reads a page when there is a place for it. A folder that is missing has none.
func (t *tree) page(ctx context.Context, path, query string) (b branch, err error) {
	select {
	case t.places <- struct{}{}:
		defer func() { <-t.places }()
	case <-ctx.Done():
		return b, ctx.Err()
	}
	body, header, err := t.of.page(ctx, t.in, path, query)
	switch {
	case missing(err):
		return b, nil
	case err != nil:
		return b, err
	}
	if b.files, b.folders, err = parse(body); err != nil {
		return b, fmt.Errorf("hub: the listing of the %s: %w", t.in, err)
	}
	b.next, b.query, err = t.of.next(path, header.Get("Link"))
	return b, err
}
