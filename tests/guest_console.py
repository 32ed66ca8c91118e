"""The console of a running guest, through `previrt console`."""
import json, os, pty, select, subprocess, time


def entry_of(previrt, name):
    """What `previrt list` says of the guest; None where there is none of this name."""
    listed = subprocess.run([previrt, "list", "--json"], capture_output=True, text=True, check=True).stdout
    return next((guest for guest in json.loads(listed) if guest["name"] == name), None)


class ConsoleClient:
    """A client with pipes or a terminal. `text` is all that it has shown; shows() looks behind the last text found."""

    def __init__(self, previrt, name, seconds, terminal=False):
        self.text = b""
        self.seconds = seconds
        self._begin = 0
        command = [previrt, "console", name]
        if terminal:
            self.output, theirs = pty.openpty()
            self.input = self.output
            self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
            os.close(theirs)
        else:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()

    def type(self, text):
        os.write(self.input, text)

    def shows(self, wanted):
        deadline = time.monotonic() + self.seconds
        while (at := self.text.find(wanted, self._begin)) < 0:
            if time.monotonic() > deadline:
                return False
            if select.select([self.output], [], [], 1)[0]:
                try:
                    more = os.read(self.output, 65536)
                except OSError:  # a terminal's way of telling its end
                    more = b""
                if not more:
                    return False
                self.text += more
        self._begin = at + len(wanted)
        return True

    def status(self):
        return self.process.wait(self.seconds)
