package group

import (
	"cmp"
	"container/heap"
)

// shelf has the samples of a domain that are held.
type shelf[T any] struct {
	domain  string
	inOrder line[T]       // as they came
	longest []*waiting[T] // the longest first, of equal ones the oldest; nil: nobody asks
	length  int           // of all sequences of all
	at      int           // in shelves; -1: it is not there
}

// shelves are a heap: the first has most on it, of several that of the oldest sample.
// There may be one for each document of a corpus.
type shelves[T any] []*shelf[T]

// settle moves a shelf to its place, after something has come to it or left it. An
// empty one is taken out.
func (s *shelves[T]) settle(of *shelf[T]) {
	switch {
	case of.inOrder.len == 0:
		heap.Remove(s, of.at)
	case of.at < 0:
		heap.Push(s, of)
	default:
		heap.Fix(s, of.at)
	}
}

// Len implements [heap.Interface].
func (s shelves[T]) Len() int { return len(s) }

// Less implements [heap.Interface].
func (s shelves[T]) Less(i, j int) bool {
	return cmp.Or(s[j].length-s[i].length, s[i].inOrder.first.number-s[j].inOrder.first.number) < 0
}

// Swap implements [heap.Interface].
func (s shelves[T]) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].at, s[j].at = i, j
}

// Push implements [heap.Interface].
func (s *shelves[T]) Push(of any) {
	to := of.(*shelf[T])
	to.at = len(*s)
	*s = append(*s, to)
}

// Pop implements [heap.Interface].
func (s *shelves[T]) Pop() any {
	last := len(*s) - 1
	of := (*s)[last]
	(*s)[last], *s = nil, (*s)[:last]
	of.at = -1
	return of
}
