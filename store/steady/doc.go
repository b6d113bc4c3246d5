// Package steady reads objects over HTTP from hosts that are slow, busy or fail.
//
//	c := steady.New(steady.Transport(), true)
//	o, err := c.Stat(ctx, name, ask)             // its size and version, by one request
//	err = c.Fill(ctx, o, p, at, ask)             // all of p, of this version
//
// A [Store] for a service says with an [Ask] how it asks for an object; package steady
// does the rest, for all stores alike:
//
//   - Pace: 16 requests at once to a host at first, at most 128. Answers allow more, and
//     each failure halves them. A host that asks for time (429, 503, Retry-After) gets
//     it.
//   - Retries: what may succeed is tried again, with growing, random pauses. Retries are
//     at most a tenth of all requests, and a few a second, so that they do not add to a
//     host's trouble.
//   - Time: 10 s to connect, 30 s to the first byte, 10 s from byte to byte. There is no
//     deadline over a whole request, however large. A read that breaks off goes on at its
//     byte.
//   - Hedges: a request that takes far longer than most is sent a second time, for 3 % of
//     requests at most.
//   - Checks: the range, length and version of every answer are those asked for, or the
//     read fails. Versions are ETags, or else dates.
//
// One read is one request: readers that know of several, such as package shard, have
// merged them before.
package steady
