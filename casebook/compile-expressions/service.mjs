// A service whose configuration holds many expressions over a row. Each is compiled to generated code:
// all of them at the start, or each when it is first evaluated.
//
//     node service.mjs at-start|at-first-use COUNT

const [when, count] = [process.argv[2], Number(process.argv[3])];

function expressionText(number) {
  const terms = [];
  for (let i = 0; i < 24; i++) {
    terms.push(`(row.price > ${number + i} ? row.stock * ${i + 1} : row.weight - ${number % 7})`);
  }
  return terms.join(' + ');
}

function compileExpression(text) {
  return new Function('row', `return ${text};`);
}

class Expression {
  constructor(text) {
    this.text = text;
    this.code = when === 'at-start' ? compileExpression(text) : null;
  }

  evaluate(row) {
    this.code ??= compileExpression(this.text);
    return this.code(row);
  }
}

function readConfiguration() {
  const expressions = [];
  for (let number = 0; number < count; number++) expressions.push(new Expression(expressionText(number)));
  return expressions;
}

function serve(expressions, requests) {
  let sum = 0;
  for (let request = 0; request < requests; request++) {
    const row = { price: request % 1000, stock: 3, weight: 7 };
    // Fifty of the expressions are in use.
    sum += expressions[(request % 50) * 20].evaluate(row);
  }
  return sum;
}

const expressions = readConfiguration();
const sum = serve(expressions, 100000);
const expected = serve(expressions, 1000) * 100;
if (expressions.length !== count || sum !== expected) {
  console.error(`wrong: ${expressions.length} expressions, ${sum} instead of ${expected}`);
  process.exit(1);
}
console.log(`${count} expressions, 100000 requests`);
