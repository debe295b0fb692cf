/** Script of the demo's developer: the correct files of each task, and the faulty files of its first attempt. */

export interface DemoFile {
  path: string
  content: string
}

export interface DemoTask {
  id: string
  title: string
  description: string
  dependsOn?: string[]
  /** A faulty first attempt. */
  firstAttempt?: { answer: string; files: DemoFile[] }
  answer: string
  files: DemoFile[]
  /** QA returns the task until its diff matches the pattern. */
  reviewRule?: { pattern: RegExp; feedback: string }
  /** A command that needs approval. */
  command?: string
}

const couponTest: DemoFile = {
  path: 'test/coupon.test.js',
  content: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCoupon } from '../src/coupon.js'

test('reads a percentage', () => {
  assert.deepEqual(parseCoupon('10%'), { percent: 10 })
})

test('reads an amount as whole cents', () => {
  assert.deepEqual(parseCoupon('2.50'), { cents: 250 })
  assert.deepEqual(parseCoupon('8.70'), { cents: 870 })
})

test('refuses what is neither', () => {
  assert.throws(() => parseCoupon('free!'), /coupon/)
})
`,
}

const coupon = (cents: string): DemoFile => ({
  path: 'src/coupon.js',
  content: `/** A coupon as it is written on the slip: "10%" or "2.50". */
export function parseCoupon(text) {
  const percent = /^(\\d{1,3})%$/.exec(text)
  if (percent) return { percent: Number(percent[1]) }
  const amount = /^(\\d+)\\.(\\d{2})$/.exec(text)
  if (amount) return { cents: ${cents} }
  throw new Error(\`"\${text}" is no coupon\`)
}
`,
})

const discountTest = (more: string): DemoFile => ({
  path: 'test/discount.test.js',
  content: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { discounted } from '../src/discount.js'

test('takes a percentage off, in whole cents', () => {
  assert.equal(discounted(999, { percent: 10 }), 899)
})

test('takes an amount off', () => {
  assert.equal(discounted(1000, { cents: 250 }), 750)
})
${more}`,
})

const discount = (rest: string): DemoFile => ({
  path: 'src/discount.js',
  content: `/** What is left of a total after a coupon, in cents. */
export function discounted(total, { percent = 0, cents = 0 }) {
  ${rest}
}
`,
})

export const demoTasks: readonly DemoTask[] = [
  {
    id: 'parse-coupon',
    title: 'Read a coupon',
    description:
      'src/coupon.js exports parseCoupon(text): "10%" gives { percent: 10 }, "2.50" gives { cents: 250 }, anything else throws. With tests in test/coupon.test.js.',
    firstAttempt: {
      answer: 'parseCoupon reads both kinds; its tests are in place.',
      files: [coupon('amount[1] * 100 + amount[2]'), couponTest],
    },
    answer: 'The two halves of the amount were joined as text and not added. Now both are numbers first.',
    files: [coupon('Number(amount[1]) * 100 + Number(amount[2])'), couponTest],
  },
  {
    id: 'apply-coupon',
    title: 'Take a coupon off a total',
    description:
      'src/discount.js exports discounted(total, coupon): what is left of a total in cents after a coupon of parseCoupon. With tests in test/discount.test.js.',
    dependsOn: ['parse-coupon'],
    firstAttempt: {
      answer: 'discounted takes a percentage or an amount off; the tests pass here.',
      files: [discount('return Math.round(total * (1 - percent / 100)) - cents'), discountTest('')],
    },
    answer: 'A coupon can no longer turn a total negative; there is a test for it.',
    files: [
      discount('return Math.max(0, Math.round(total * (1 - percent / 100)) - cents)'),
      discountTest(`
test('never pays the customer', () => {
  assert.equal(discounted(200, { cents: 250 }), 0)
})
`),
    ],
    reviewRule: {
      pattern: /Math\.max\(0/,
      feedback:
        'src/discount.js:3: a coupon that is worth more than the basket gives a negative total: discounted(200, { cents: 250 }) is -50. It must be 0. Add a test that shows it.',
    },
  },
  {
    id: 'receipt',
    title: 'Show the coupon on the receipt',
    description:
      'src/receipt.js exports receipt(items, couponText?): one line per item, a line for the coupon if there is one, and the total. With tests in test/receipt.test.js.',
    dependsOn: ['apply-coupon'],
    answer: 'receipt lists the items, the coupon and the total.',
    files: [
      {
        path: 'src/receipt.js',
        content: `import { total } from './basket.js'
import { parseCoupon } from './coupon.js'
import { discounted } from './discount.js'
import { money } from './money.js'

/** The lines of a receipt; a coupon is given as it is written on the slip. */
export function receipt(items, coupon) {
  const sum = total(items)
  const left = coupon === undefined ? sum : discounted(sum, parseCoupon(coupon))
  return [
    ...items.map(({ name, cents, count = 1 }) => \`\${count} x \${name}  \${money(cents * count)}\`),
    ...(coupon === undefined ? [] : [\`coupon \${coupon}  -\${money(sum - left)}\`]),
    \`total  \${money(left)}\`,
  ]
}
`,
      },
      {
        path: 'test/receipt.test.js',
        content: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { receipt } from '../src/receipt.js'

const items = [{ name: 'tea', cents: 450, count: 2 }, { name: 'cup', cents: 100 }]

test('lists items and the total', () => {
  assert.deepEqual(receipt(items), ['2 x tea  9.00', '1 x cup  1.00', 'total  10.00'])
})

test('shows what a coupon takes off', () => {
  assert.deepEqual(receipt(items, '10%').slice(-2), ['coupon 10%  -1.00', 'total  9.00'])
})
`,
      },
    ],
    command: 'node --check src/receipt.js',
  },
]
