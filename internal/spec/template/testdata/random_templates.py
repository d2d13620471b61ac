"""Make random templates and render them with real Jinja2, for the Go tests to compare with.

    /tmp/jinja/bin/python random_templates.py [seed] [how many]       (see golden.py for the environment)

Writes random.json: pairs of a template and what Jinja2 rendered, for those that it could.
A template that we refuse is no fault; one that we render otherwise is. Run it with other
seeds, without keeping the file, to look for more.
"""

import copy
import json
import pathlib
import random
import sys

import jinja2

HERE = pathlib.Path(__file__).parent
seed, wanted = (int(a) for a in (sys.argv[1:] + ["1", "1200"][len(sys.argv) - 1 :])[:2])
dice = random.Random(seed)
pick = dice.choice

environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
environment.filters["quote"] = lambda value: json.dumps(str(value), ensure_ascii=False)
context = json.loads((HERE / "context.json").read_text(), object_pairs_hook=lambda pairs: dict(sorted(pairs)))

ATOMS = """1 0 2 3.5 0.0 -1 'a' 'Abc' '' '1' true false none parameters.workers parameters.ratio parameters.hosts parameters.limits
    parameters.users parameters.multi parameters.empty parameters.nothing parameters.debug parameters.ports parameters.none_at_all
    parameters.greeting app.version app.previous_version missing parameters.missing (1,2) [1,'b',none] {'k':1,'j':[2]} [3,1,2]
    ['b','A','a'] 10 7 1e3""".split()
FILTERS = """upper lower default('d') default('d',true) length first last list join(',') join sort int float string trim title
    capitalize abs round round(1) tojson quote min max sum indent(2) replace('a','b') dictsort unique|list reverse|list
    map('upper')|list map('string')|list map(attribute='name')|list select|list reject|list select('number')|list
    selectattr('admin')|list sort(reverse=true) sort(attribute='age') join('-',attribute='name') count d(0) indent(2,true)
    round(method='floor') int(5) selectattr('age','gt',10)|list max(attribute='age') sum(attribute='age')
    dictsort(by='value') dictsort(reverse=true)""".split()
TESTS = """none defined undefined string number integer float boolean mapping sequence iterable odd even divisibleby(3) eq(1)
    ne('a') lt(3) in([1,2,'a']) true false lower upper gt(1) ge(2)""".split()
OPERATORS = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", ">", "<=", ">=", "and", "or", "in", "not in"]
ENDINGS = """.upper() .lower() .strip() .split(',') .split() .startswith('a') .replace('a','b') .items()|list .keys()|list
    .get('cpu') .get('z',3) [0] [-1] [1:] [:2] [::-1] .cpu ['cpu'] .name [0].name .title() .capitalize() .count('a') .find('b')
    .rsplit('.',1) .splitlines() .zfill(4) .isdigit()""".split()
BLANKS = ["", " ", "\n", "\n  ", "  \n", "x", "- ", "\t\n\n"]


def expression(depth: int) -> str:
    def inner() -> str:
        return expression(depth - 1)

    if depth <= 0:
        return pick(ATOMS)
    return pick(
        [
            lambda: pick(ATOMS),
            lambda: f"{inner()} {pick(OPERATORS)} {inner()}",
            lambda: f"{inner()} {pick(OPERATORS)} {inner()}",
            lambda: f"{inner()} | {pick(FILTERS)}",
            lambda: f"{inner()} | {pick(FILTERS)}",
            lambda: f"({inner()})",
            lambda: f"{inner()} is {pick(['', 'not '])}{pick(TESTS)}",
            lambda: f"not {inner()}",
            lambda: f"-{inner()}",
            lambda: f"({inner()}){pick(ENDINGS)}",
            lambda: f"{inner()} if {inner()} else {inner()}",
            lambda: f"[{inner()}, {inner()}]",
        ]
    )()


def tag(text: str) -> str:
    return f"{{%{pick(['', '', '-'])} {text} {pick(['', '', '-'])}%}}"


def statement(depth: int) -> str:
    def body() -> str:
        return "".join(statement(depth - 1) for _ in range(dice.randint(1, 2))) + pick(BLANKS)

    show = f"{pick(BLANKS)}{{{{{pick(['', '-'])} {expression(1)} {pick(['', '-'])}}}}}{pick(BLANKS)}"
    if depth <= 0:
        return show
    over = pick(["parameters.hosts", "parameters.users", "range(3)", "parameters.limits", "'ab'"])
    return pick(
        [
            lambda: show,
            lambda: tag("if " + expression(1)) + body() + tag("else") + body() + tag("endif"),
            lambda: tag("for x in " + over) + body() + "{{ loop.index }}" + tag("endfor"),
            lambda: tag("set x = " + expression(1)) + "{{ x }}",
            lambda: tag("set y") + body() + tag("endset") + "{{ y }}",
            lambda: "{#- c #}",
            lambda: tag("macro m(x, y=1)") + body() + "{{ x }}" + tag("endmacro") + "{{ m(2) }}",
        ]
    )()


found = {}
while len(found) < wanted:
    template = "{{ " + expression(2) + " }}" if dice.random() < 0.7 else statement(2)
    try:
        found[template] = environment.from_string(template).render(copy.deepcopy(context))
    except Exception:  # noqa: BLE001, S112 - what Jinja2 refuses is of no interest
        continue
(HERE / "random.json").write_text(json.dumps(found, ensure_ascii=False, indent=0) + "\n")
print(len(found), "templates")
