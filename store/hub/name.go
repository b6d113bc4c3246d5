package hub

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/headrace/headrace/store"
)

// repo is a repository at a revision, or a bucket.
type repo struct {
	kind     string // in the plural, as in the paths of the API
	id       string // owner/name
	revision string // a branch, a tag or a commit; "": of a bucket, which has none
}

const (
	models  = "models"
	buckets = "buckets"

	firstRevision = "main"
)

var kinds = []string{"datasets", models, "spaces", "kernels", buckets}

var (
	// refs are revisions with slashes, which need no escape.
	refs   = regexp.MustCompile(`^refs/(convert/[\w.-]+|pr/\d+)`)
	commit = regexp.MustCompile(`^[0-9a-f]{40}$`)
	part   = regexp.MustCompile(`^[\w.-]+$`)
)

// split returns the repository of a name, the beginning of the name that stands for it,
// with a slash at the end, and the path there:
//
//	datasets/owner/name[@revision]/path      spaces/…, kernels/…, models/… or without any of these
//	buckets/owner/name/path
//
// A slash of a revision is written as %2F, but for refs/convert/… and refs/pr/….
func split(name string) (r repo, root, path string, err error) {
	r = repo{kind: models, revision: firstRevision}
	rest := name
	first, after, _ := strings.Cut(name, "/")
	switch {
	case slices.Contains(kinds, first):
		r.kind, rest = first, after
	case slices.Contains(kinds, first+"s"):
		return r, "", "", fmt.Errorf("%w: write hf://%ss/%s", store.ErrName, first, after)
	}
	owner, rest, _ := strings.Cut(rest, "/")
	title, path, found := strings.Cut(rest, "/")

	// Files may have an @ in their names, too.
	if id, revision, marked := strings.Cut(title, "@"); marked {
		title = id
		if found {
			revision += "/" + path
		}
		if special := refs.FindString(revision); special != "" {
			r.revision, path = special, strings.TrimPrefix(revision[len(special):], "/")
		} else if revision, _, _ = strings.Cut(revision, "/"); true {
			r.revision, err = url.PathUnescape(revision)
		}
		if err != nil || r.revision == "" || r.kind == buckets {
			return r, "", "", fmt.Errorf("%w: the revision after @ must be a branch, a tag or a commit, and buckets have none",
				store.ErrName)
		}
	}
	if !part.MatchString(owner) || !part.MatchString(title) {
		kind := "datasets"
		if first == r.kind {
			kind = r.kind
		}
		return r, "", "", fmt.Errorf("%w: name one repository or bucket, as in hf://%s/owner/name/path", store.ErrName, kind)
	}
	r.id = owner + "/" + title
	if r.kind == buckets {
		r.revision = ""
	}
	root = strings.TrimSuffix(strings.TrimSuffix(name, path), "/") + "/"
	return r, root, path, nil
}

// String is for messages.
func (r repo) String() string {
	s := strings.TrimSuffix(r.kind, "s") + " " + r.id
	if r.revision != "" && r.revision != firstRevision {
		s += " at " + r.revision
	}
	return s
}

// page is the path of the repository's page, and the beginning of its files' paths.
func (r repo) page() string {
	if r.kind == models {
		return "/" + r.id
	}
	return "/" + r.kind + "/" + r.id
}

// api is the beginning of its paths of the API.
func (r repo) api() string { return "/api/" + r.kind + "/" + r.id }

// file is the path of a file.
func (r repo) file(path string) string {
	if r.kind == buckets {
		return r.page() + "/resolve/" + url.PathEscape(path)
	}
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return r.page() + "/resolve/" + url.PathEscape(r.revision) + "/" + strings.Join(parts, "/")
}

// tree is the path of the listing of a folder.
func (r repo) tree(folder string) string {
	at := r.api() + "/tree"
	if r.revision != "" {
		at += "/" + url.PathEscape(r.revision)
	}
	if folder != "" {
		at += "/" + url.PathEscape(folder)
	}
	return at
}
