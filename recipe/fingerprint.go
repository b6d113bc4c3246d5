package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Identifier is implemented by arguments of which a part does not matter to which samples
// come out.
type Identifier interface {
	// Identity returns the arguments that do.
	Identity(r Recipe) Args
}

// Fingerprint returns a number, in hexadecimal digits, that is the same for recipes that
// give the same samples in the same order, where the same files are found. It goes into
// saved states. The folder in which relative paths start is not a part of it: data may
// move.
func (r Recipe) Fingerprint() string {
	h := sha256.New()
	// What cannot be written has no samples either; Check finds it.
	_ = json.NewEncoder(h).Encode(identityForm{1, r.Seed, r.identity(r.Complete().Steps)})
	return hex.EncodeToString(h.Sum(nil))
}

// identityForm is what fingerprints are made of. It must not change with the notation:
// states would no longer fit the recipes they were saved of.
type identityForm struct {
	Headrace int            `json:"headrace"`
	Seed     uint64         `json:"seed"`
	Steps    []identityStep `json:"steps"`
}

type identityStep struct {
	Op     string           `json:"op"`
	Name   string           `json:"name"`
	Args   Args             `json:"args"`
	Chains [][]identityStep `json:"chains,omitempty"` // which the arguments are without
}

// identity leaves out what becomes of samples that fail: whoever lets a run skip them
// after one has stopped it goes on with its state.
func (r Recipe) identity(steps []Step) []identityStep {
	all := make([]identityStep, len(steps))
	for i, s := range steps {
		id := identityStep{Op: s.Op, Name: s.Name, Args: s.Args}
		if a, ok := s.Args.(Identifier); ok {
			id.Args = a.Identity(r)
		}
		if n, ok := id.Args.(Nesting); ok {
			for _, c := range n.Chains() {
				id.Chains = append(id.Chains, r.identity(c))
			}
			id.Args = n.With(make([]Chain, len(n.Chains())))
		}
		all[i] = id
	}
	return all
}
