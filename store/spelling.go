package store

import (
	"path"
	"slices"
	"strings"
)

// otherSpelling returns the pattern with its suffix written as existing files have it,
// and how many it finds: *.JPEG for *.jpeg or *.jpg. The pattern is empty if there are
// none.
func (w *walker) otherSpelling() (pattern string, files int) {
	suffix := path.Ext(w.p.text)
	if strings.ContainsAny(suffix, "*?[") {
		return "", 0
	}

	tried := []string{"", suffix}
	for _, alike := range [][]string{{suffix}, {".jpg", ".jpeg"}, {".tif", ".tiff"}} {
		if !slices.Contains(alike, strings.ToLower(suffix)) && alike[0] != suffix {
			continue
		}
		for _, other := range alike {
			for _, spelled := range []string{strings.ToUpper(other), strings.ToLower(other)} {
				if slices.Contains(tried, spelled) {
					continue
				}
				tried = append(tried, spelled)
				pattern := strings.TrimSuffix(w.p.text, suffix) + spelled
				if found, err := walk(w.ctx, w.b.t.root, pattern, nil); err == nil && found.b.len() > 0 {
					return pattern, found.b.len()
				}
			}
		}
	}
	return "", 0
}
