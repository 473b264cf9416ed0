package process

var Absent = absent
