package task

func child() {}
