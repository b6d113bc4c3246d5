package recipe

// Catalogue are the operations that have no room yet.
var Catalogue = Room{
	filesOp, readOp, sourceOp, mergeOp, shuffleOp, samplerOp, weightedOp, routeOp, mapOp, filterOp, flatMapOp, aggregateOp,
	batchOp, bucketBatchOp, packOp, unbatchOp,
}
