// The same model on SimGrid, which simulates activities on hosts instead of drawing maxima of sums: static chains, all
// nodes of a stage awaited.
//   simgrid_sampler dag|actors REPLICATES < description
// dag: every trial an Exec that follows the one before on its slot, run without actors. actors: a slot is an actor that
// sleeps through its trials, with the smallest stacks and no guard pages. Which is faster depends on the number of
// slots.
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

struct Law {
    bool is_normal = false; // truncated at 0, else lognormal
    double a = 0, b = 0;
};

struct Stage {
    int trials, gpus, nodes, slots;
    double mean_s;
};

struct Model {
    Law factor, queue, init;
    int gpus_per_node = 1;
    double usd_per_hour = 0;
    std::vector<Stage> stages;
    long long trials = 0;
    int max_hosts = 0;
};

Law make_law(const std::string &kind, double mean, double cv)
{
    const double sigma2 = std::log1p(cv * cv);
    return kind == "normal" ? Law{true, mean, mean * cv} : Law{false, std::log(mean) - sigma2 / 2, std::sqrt(sigma2)};
}

Model read_model()
{
    Model m;
    std::string word, kind;
    while (std::cin >> word) {
        if (word == "node") {
            std::cin >> m.gpus_per_node >> m.usd_per_hour;
        } else if (word == "stage") {
            Stage s;
            std::cin >> s.trials >> s.mean_s >> s.gpus >> s.nodes;
            const int per_node = m.gpus_per_node / s.gpus, per_slot = (s.gpus + m.gpus_per_node - 1) / m.gpus_per_node;
            s.slots = std::min(s.trials, per_node > 0 ? s.nodes * per_node : s.nodes / per_slot);
            m.max_hosts = std::max({m.max_hosts, s.slots, s.nodes});
            m.trials += s.trials;
            m.stages.push_back(s);
        } else {
            double mean, cv;
            std::cin >> kind >> mean >> cv;
            (word == "factor" ? m.factor : word == "queue" ? m.queue : m.init) = make_law(kind, mean, cv);
        }
    }
    return m;
}

class Sampler {
    const Model &m;
    sg4::Engine &engine;
    std::vector<sg4::Host *> hosts;
    std::mt19937_64 random{1};
    std::normal_distribution<double> normal;
    std::vector<double> running_s;
    std::vector<sg4::ExecPtr> activities; // kept until the engine has run: it does not
    double cost_usd = 0;

    double draw(const Law &law)
    {
        if (!law.is_normal)
            return std::exp(law.a + law.b * normal(random));
        double x;
        do
            x = law.a + law.b * normal(random);
        while (x < 0);
        return x;
    }

    void release(double now_s)
    {
        const double seconds = now_s - running_s.back();
        cost_usd += m.usd_per_hour / 3600 * std::max(60.0, std::ceil(seconds));
        running_s.pop_back();
    }

    sg4::ExecPtr exec(int host, double seconds)
    {
        activities.push_back(sg4::Exec::init()->set_flops_amount(seconds * 1e9)->set_host(hosts[host]));
        return activities.back();
    }

    // ---- activities only

    void run_activities()
    {
        engine.run();
        activities.clear();
    }

    void provision_by_dag(const Stage &stage)
    {
        for (int node = 0; (int)running_s.size() < stage.nodes; node++) {
            const double queue_s = draw(m.queue);
            running_s.push_back(engine.get_clock() + queue_s);
            exec(node, queue_s + draw(m.init))->start();
        }
        run_activities();
    }

    void train_by_dag(const Stage &stage)
    {
        std::vector<sg4::ExecPtr> first, last(stage.slots);
        for (int k = 0; k < stage.trials; k++) {
            sg4::ExecPtr trial = exec(k % stage.slots, stage.mean_s * draw(m.factor));
            if (k < stage.slots)
                first.push_back(trial);
            else
                last[k % stage.slots]->add_successor(trial);
            last[k % stage.slots] = trial;
            if (k >= stage.slots)
                trial->vetoable_start();
        }
        for (auto &trial : first)
            trial->start();
        run_activities();
    }

    // ---- actors that sleep

    void provision_by_actors(const Stage &stage)
    {
        std::vector<sg4::ActorPtr> nodes;
        for (int node = 0; (int)running_s.size() < stage.nodes; node++) {
            const double queue_s = draw(m.queue), init_s = draw(m.init);
            running_s.push_back(sg4::Engine::get_clock() + queue_s);
            nodes.push_back(sg4::Actor::create("node", hosts[0], [queue_s, init_s]() {
                sg4::this_actor::sleep_for(queue_s);
                sg4::this_actor::sleep_for(init_s);
            }));
        }
        for (auto &node : nodes)
            node->join();
    }

    void train_by_actors(const Stage &stage)
    {
        std::vector<sg4::ActorPtr> slots;
        for (int slot = 0; slot < stage.slots; slot++)
            slots.push_back(sg4::Actor::create("slot", hosts[0], [this, &stage, slot]() {
                for (int k = slot; k < stage.trials; k += stage.slots)
                    sg4::this_actor::sleep_for(stage.mean_s * draw(m.factor));
            }));
        for (auto &slot : slots)
            slot->join();
    }

public:
    Sampler(const Model &model, sg4::Engine &e) : m(model), engine(e)
    {
        auto *zone = sg4::create_full_zone("cloud");
        for (int i = 0; i < m.max_hosts; i++)
            hosts.push_back(zone->create_host("slot-" + std::to_string(i), 1e9)->seal());
        zone->seal();
    }

    void replicate(bool by_actors, double *time_s, double *usd)
    {
        const double start_s = sg4::Engine::get_clock();
        cost_usd = 0;
        for (const Stage &stage : m.stages) {
            while ((int)running_s.size() > stage.nodes)
                release(sg4::Engine::get_clock());
            by_actors ? provision_by_actors(stage) : provision_by_dag(stage);
            by_actors ? train_by_actors(stage) : train_by_dag(stage);
        }
        while (!running_s.empty())
            release(sg4::Engine::get_clock());
        *time_s = sg4::Engine::get_clock() - start_s;
        *usd = cost_usd;
    }

    void run(bool by_actors, const std::function<void()> &all)
    {
        if (!by_actors)
            return all();
        sg4::Actor::create("job", hosts[0], all);
        engine.run();
    }
};

double cpu_seconds()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: simgrid_sampler dag|actors REPLICATES < description\n");
        return 2;
    }
    const bool by_actors = std::string(argv[1]) == "actors";
    const int n = std::atoi(argv[2]);
    sg4::Engine engine(&argc, argv);
    sg4::Engine::set_config("contexts/stack-size:64");
    sg4::Engine::set_config("contexts/guard-size:0");
    const Model model = read_model();
    Sampler sampler(model, engine);
    std::vector<double> times_s(n);
    double time_sum = 0, cost_sum = 0;
    const double before_s = cpu_seconds();
    sampler.run(by_actors, [&]() {
        for (int i = 0; i < n; i++) {
            double usd;
            sampler.replicate(by_actors, &times_s[i], &usd);
            time_sum += times_s[i];
            cost_sum += usd;
        }
    });
    const double cpu_s = cpu_seconds() - before_s;
    std::sort(times_s.begin(), times_s.end());
    std::printf("replicates %d trials %lld cpu_s %.9g time_mean %.9g time_p95 %.9g cost_mean %.9g\n", n, model.trials,
                cpu_s, time_sum / n, times_s[(size_t)(0.95 * n)], cost_sum / n);
    return 0;
}
