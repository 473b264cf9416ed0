package supervisor

// KeepListed lets tests call what older kernels need.
var KeepListed = keepListed
