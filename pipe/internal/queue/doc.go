// Package queue is the queue between two stages: a [Ring] of [Message].
//
// It knows no stages. Anyone who makes a ring tells it with an [Owner] what it has to
// know of the stage that fills it, and whom to tell of a failure.
package queue
