"""Runs programs, each in a process forked from this one: most of their time goes into importing OpenAI's client.

A line of input has a folder, the program in it, its arguments and its environment; a line of output is its status. What
it prints is in the folder's files ``stdout`` and ``stderr``.
"""

import json
import os
import runpy
import sys

import openai.resources  # noqa: F401 - for the programs

for line in sys.stdin:
    folder, program, arguments, environ = json.loads(line)
    if not (child := os.fork()):
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environ)
        sys.path[0], sys.argv = folder, [program, *arguments]
        for name, number in (("stdout", 1), ("stderr", 2)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        runpy.run_path(program, run_name="__main__")
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
