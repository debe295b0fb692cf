/** The vocabulary of the benchmarks' messages, each list roughly from frequent to rare. A plain list, not code. */
const list = (text: string): readonly string[] => text.trim().split(/\s+/)

export const commonWords = list(`
the to and of a in is it that for on with this be as we not are have you by or from at can if but will when an which all
so there has was do they our now what one then should also how no only into about up out more its than other after some
before because would first where could any each just does them make while both same need still like new over most must
next these here two between again without until every who through down even very those back such since yet whether three
against under never once already often instead during however perhaps within later together almost another enough always
around either away rather four soon several across maybe along therefore less likely further twice beyond quite elsewhere
`)

export const nouns = list(`
test session user message error file task page agent request code change review state button form log build value
function type record list version query index table cache token server client store feature step name time result key
plan field response branch commit line issue bug fix call data path order case worker queue event stream context window
account password login address invoice payment cart product customer discount shipment receipt total currency tax
conversation summary checkpoint budget model prompt answer question tool output input argument schema migration column
row transaction lock process thread timeout retry limit page header footer menu dialog layout theme colour image icon
upload download folder archive backup deployment container network socket protocol endpoint route handler middleware
validation permission role owner team project milestone release changelog license dependency package module import
export script configuration environment variable secret certificate signature hash digest chain ledger audit report
chart metric counter histogram percentile benchmark baseline profile sample fixture scenario contract assumption
regression coverage snapshot deadline estimate priority severity incident outage alert dashboard subscription webhook
calendar reminder notification translation locale timezone alphabet keyboard clipboard selection cursor gesture viewport
`)

export const verbs = list(`
add run check use read write get set test fix see open close show find send return try start stop keep change move call
update create remove build load save wait fail pass handle return report review merge split parse count sort filter
render fetch store match replace rename validate verify measure compare explain describe propose confirm reject accept
retry cancel resume pause schedule dispatch assign notify subscribe publish append insert delete select join group
compress encrypt decode encode sign hash archive restore migrate upgrade deploy rollback monitor trace debug profile
refactor simplify document translate estimate prioritise escalate investigate reproduce isolate mitigate postpone
`)

export const adjectives = list(`
new old same last first small large empty full open closed failed right wrong missing slow fast current previous next
clean broken stale fresh single double short long main local remote public private optional required simple complex
valid invalid duplicate unique recent concurrent parallel sequential durable temporary permanent visible hidden exact
approximate nullable nested recursive flaky stable idle busy expired archived pinned internal external monthly quarterly
ambiguous redundant obsolete experimental deterministic intermittent accessible responsive keyboard-friendly localised
`)
