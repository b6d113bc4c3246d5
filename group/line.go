package group

// line has samples in the order in which they came. Any of them leaves it at once.
type line[T any] struct {
	first, last *waiting[T]
	len         int
}

func (l *line[T]) add(w *waiting[T]) {
	w.before = l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.after = w
	}
	l.last = w
	l.len++
}

func (l *line[T]) remove(w *waiting[T]) {
	if w.before == nil {
		l.first = w.after
	} else {
		w.before.after = w.after
	}
	if w.after == nil {
		l.last = w.before
	} else {
		w.after.before = w.before
	}
	w.before, w.after = nil, nil
	l.len--
}
