package recipe

// Catalogue are the operations that have no room yet.
var Catalogue = Room{
	filesOp, readOp, sourceOp, mergeOp, shuffleOp, samplerOp, weightedOp, routeOp,
	batchOp, bucketBatchOp, packOp, unbatchOp,
}
