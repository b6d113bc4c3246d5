package lines

import (
	"context"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
)

// Text is lines of text, each of which is a sample, with the field "text".
type Text struct{ packing }

var _ shard.Unpacker = Text{}

// Name returns "text".
func (Text) Name() string { return "text" }

// Suffixes returns ".txt" and that of packed files.
func (Text) Suffixes() []string { return suffixes(".txt") }

func suffixes(plain ...string) (all []string) {
	for _, s := range plain {
		all = append(all, s, s+".gz", s+".zst")
	}
	return all
}

// Scan finds the lines.
func (Text) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	found.Type("text", sample.TextType)
	return scan(ctx, f, found, textLines{})
}

type textLines struct{}

func (textLines) piece(*splitter, []byte) error { return nil }

func (textLines) end(s *splitter, at int64) error {
	err := s.sample("text", s.trim(at))
	s.begin = at + 1
	return err
}

func (l textLines) finish(s *splitter) error {
	if s.at == s.begin {
		return nil
	}
	return l.end(s, s.at)
}
