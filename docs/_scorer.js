// What a search shows first: pages whose title has the word, then names, then pages with the word.
var Scorer = {
  objNameMatch: 12,
  objPartialMatch: 3,
  objPrio: { 0: 2, 1: 1, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 9,
  term: 5,
  partialTerm: 2,
};
