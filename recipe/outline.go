package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Outline returns a line for each step of the tree, in the order of [Recipe.All], but
// for those in a mix: the step as [Recipe.String] shows it, a space, and eight
// hexadecimal digits of what [Recipe.Fingerprint] is made of. It goes into saved
// states, so that an error can name the step that differs.
func (r Recipe) Outline() []string {
	return r.outline(nil, r.Complete().Steps)
}

func (r Recipe) outline(all []string, steps []Step) []string {
	for i, id := range r.identity(steps) {
		var chains []Chain
		if n, ok := steps[i].Args.(Nesting); ok {
			chains = n.Chains()
		}

		// Only how long the chains are is of the step itself: what is in them has its own
		// lines. A mix has one line, however many sources it has: states stay small.
		inside := make([]int, len(chains))
		for j, c := range chains {
			inside[j] = len(c)
		}
		if m := TraitsOf(steps[i].Args).Merging; m != nil && m.Mix != nil {
			chains = nil
		} else {
			id.Chains = nil
		}
		h := sha256.New()
		_ = json.NewEncoder(h).Encode([]any{id, inside})

		text := Step{Op: id.Op, Name: id.Name, Args: id.Args}.Text()
		all = append(all, text+" "+hex.EncodeToString(h.Sum(nil)[:4]))
		for _, c := range chains {
			all = r.outline(all, c)
		}
	}
	return all
}
