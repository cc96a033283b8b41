"""Reads commands, options and providers from `tabella`; lines are drawn from these."""

import dataclasses
import json
import re
import subprocess


@dataclasses.dataclass
class Option:
    name: str  # the longest name
    argument: str  # the kind of its argument; None without one
    attached: bool  # whether only --name=VALUE is valid
    choices: list


@dataclasses.dataclass
class Command:
    name: str
    operands: str
    options: list


class Grammar:
    def __init__(self, tabella, environment, folder):
        def run(*arguments):
            done = subprocess.run([tabella, *arguments], env=environment, cwd=folder, capture_output=True, check=True)
            return done.stdout.decode()

        self.commands = []
        manual = run("help", "--format", "markdown")

        def written_options(text):
            written = re.findall(r"^- `(-[^`]+)`:", text, re.M)
            return {re.match(r"--?[\w-]+", each).group(): each for each in written}

        # The page of a command has its own options. It only names those that another page explains.
        everywhere = written_options(manual)
        for part in manual.split("\n## tabella ")[1:]:
            name = part.split("\n", 1)[0]
            usage = re.search(rf"```text\ntabella {name}(.*)\n", part).group(1)
            own = written_options(part)
            options = []
            for line in run("complete", "--", name, "-").splitlines()[1:]:
                offered = line.partition("\t")[0]
                # A followed table has no end. Tests/Live follows tables.
                if offered in ("--help", "--follow"):
                    continue
                written = own.get(offered) or everywhere[offered]
                names = re.findall(r"--?[\w-]+", written.partition("[")[0].partition(" ")[0] + " ")
                match = re.match(r"((?:--?[\w-]+(?:, )?)+)(?:\[=(.*)\]| (.*))?$", written)
                attached, argument = match.group(2), match.group(3)
                option = Option(max(names, key=len), attached or argument, attached is not None, [])
                if argument:
                    offered = run("complete", "--", name, option.name, "").splitlines()[1:]
                    option.choices = [line.partition("\t")[0] for line in offered]
                options.append(option)
            self.commands.append(Command(name, usage.replace("[OPTION…]", "").strip(), options))
        assert len(self.commands) > 10 and any(c.options for c in self.commands), "the help is not read any more"
        # A command for shells, which the help does not show.
        self.commands.append(Command("complete", "WORD…", [Option("--bash", "BREAKS", False, [])]))
        manifests = json.loads(run("providers", "--json"))["providers"]
        self.providers = [each["id"] for each in manifests]
        self.provider_options = [option for each in manifests for option in each["options"]]
