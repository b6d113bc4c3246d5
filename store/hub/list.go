package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/store/steady"
)

// mostListed is how many files of listings are kept.
const mostListed = 1 << 20

// file is a file of a listing.
type file struct {
	path    string
	size    int64
	version string
}

// listing has the files of a folder at a commit, and below it, by their paths.
type listing struct {
	repo
	folder string // with a slash at its end, or empty
	files  []file
}

// list returns the files below a folder. Those of a commit are kept; buckets change.
func (s *Store) list(ctx context.Context, r repo, folder string) ([]file, error) {
	if l := s.listing(r, folder); l != nil {
		return l.files, ctx.Err()
	}
	files, err := s.tree(ctx, r, strings.TrimSuffix(folder, "/"))
	if err != nil {
		return nil, err
	}
	// The Hub has folders first, and some files may have come twice.
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	files = slices.CompactFunc(files, func(a, b file) bool { return a.path == b.path })
	if r.kind != buckets {
		s.keep(&listing{r, folder, files})
	}
	return files, nil
}

// parse reads a page of a listing.
func parse(body []byte) (files []file, folders []string, err error) {
	var entries []struct {
		Type, Path, OID, XetHash string
		Size                     int64
		LFS                      *struct {
			OID  string
			Size int64
		}
	}
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, nil, fmt.Errorf("it is no list: %w", err)
	}

	for _, e := range entries {
		switch e.Type {
		case "directory":
			folders = append(folders, e.Path)
			continue
		case "file":
		default:
			continue
		}
		f := file{e.Path, e.Size, e.OID}
		switch {
		case e.LFS != nil:
			f.size, f.version = e.LFS.Size, e.LFS.OID
		case e.OID == "": // of a bucket
			f.version = e.XetHash
		}
		if f.path == "" || f.size < 0 || f.version == "" {
			return nil, nil, fmt.Errorf("the file %q has no path, size or version", f.path)
		}
		f.version = steady.TagVersion(f.version, f.size)
		files = append(files, f)
	}
	return files, folders, nil
}

// next returns the path and query of the next page by a page's path and Link header;
// empty: there is none. The token goes to no other host.
func (s *Store) next(from, link string) (path, query string, err error) {
	set, err := s.begin()
	if err != nil {
		return "", "", err
	}
	page, err := set.url(from)
	if err != nil {
		return "", "", err
	}
	for one := range strings.SplitSeq(link, ",") {
		at, what, _ := strings.Cut(strings.TrimSpace(one), ">")
		if !strings.Contains(what, `rel="next"`) {
			continue
		}
		u, err := page.Parse(strings.TrimPrefix(at, "<"))
		if err != nil || u.Host != set.host || u.Scheme != set.scheme {
			return "", "", fmt.Errorf("hub: the next page of a listing is not at %s", set.host)
		}
		return strings.TrimPrefix(u.EscapedPath(), set.base), u.RawQuery, nil
	}
	return "", "", nil
}

// listing returns the one that has a folder, or nil.
func (s *Store) listing(r repo, path string) *listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.listings, func(l *listing) bool { return l.repo == r && strings.HasPrefix(path, l.folder) })
	if at < 0 {
		return nil
	}
	l := s.listings[at]
	s.listings = append(slices.Delete(s.listings, at, at+1), l)
	return l
}

// keep keeps a listing, of any size, and of the others the last used ones.
func (s *Store) keep(l *listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listings = slices.DeleteFunc(s.listings, func(old *listing) bool { return old.repo == l.repo && old.folder == l.folder })
	all := len(l.files)
	for i := len(s.listings) - 1; i >= 0; i-- {
		if all += len(s.listings[i].files); all > mostListed {
			s.listings = slices.Delete(s.listings, 0, i+1)
			break
		}
	}
	s.listings = append(s.listings, l)
}

// listed looks a file up in the listings; nil: there is none of this name.
func (s *Store) listed(r repo, path string) (f *file, known bool) {
	l := s.listing(r, path)
	if l == nil {
		return nil, false
	}
	at, found := slices.BinarySearchFunc(l.files, path, func(f file, p string) int { return strings.Compare(f.path, p) })
	if !found {
		return nil, true
	}
	return &l.files[at], true
}
